// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A checkpoint is a folder of files that people can open, closed by manifest.json with the size and checksum
/// of each.
///
/// It is written under a temporary name beside its own, every file fsynced, and renamed at the end: a folder
/// with the final name is whole. Loading runs no code and trusts no length.
#ifndef CORRAL_PROTO_CHECKPOINT_H
#define CORRAL_PROTO_CHECKPOINT_H

#include "corral/base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_checkpoint_writer corral_checkpoint_writer;

/// Starts a checkpoint that will be called `path` (its parent must exist). An older one there is replaced at
/// the end.
CORRAL_MUST_USE corral_status corral_checkpoint_begin(const char *path,
                                                      corral_checkpoint_writer **out_writer);
/// The path under which a plain file of the checkpoint (no folders) may be written now
/// ("policy.safetensors"); the caller frees it.
char *corral_checkpoint_file(const corral_checkpoint_writer *writer, const char *name);
/// Writes the manifest over all files in the folder, syncs, renames. The writer is gone afterwards, also on
/// failure (then nothing is left of it and an older checkpoint is intact).
CORRAL_MUST_USE corral_status corral_checkpoint_commit(corral_checkpoint_writer *writer);
/// Drops it and removes what was written. NULL is fine.
void corral_checkpoint_abandon(corral_checkpoint_writer *writer);

/// Checks a checkpoint folder against its manifest: every listed file there, with its size and checksum,
/// nothing else there (hidden files apart), no link, no file name that leaves the folder. The sentence names
/// the file: "checkpoints/20480/policy.safetensors: checksum differs from manifest.json; the file is
/// damaged".
CORRAL_MUST_USE corral_status corral_checkpoint_verify(const char *path);

/// The checkpoints of a run folder lie in <run>/checkpoints/<step>. `path` may be a checkpoint itself, or a
/// run (then its last one, or with `best` the one of the best evaluation). The caller frees `*out_path`.
CORRAL_MUST_USE corral_status corral_checkpoint_find(const char *path, int best, char **out_path);

/// Makes checkpoints/<step> the best one: checkpoints/best.json, {"step": N}, replaced atomically.
CORRAL_MUST_USE corral_status corral_checkpoint_set_best(const char *run_path, uint64_t step);

/// Removes all but the `keep` newest numbered checkpoints of a run, the best one, and those named in
/// `also_keep` (NULL-terminated base names, or NULL). Never removes the newest. Removes what a killed process
/// left half written, too: so only the run's one writer may call it, and not between begin and commit.
CORRAL_MUST_USE corral_status corral_checkpoint_prune(const char *run_path, uint32_t keep,
                                                      const char *const *also_keep);

#ifdef __cplusplus
}
#endif
#endif
