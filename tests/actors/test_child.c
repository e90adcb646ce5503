// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "test_worker.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void sleep_for_ever(void)
{
    for (;;)
        pause();
}

void test_fork_stubborn_family(void)
{
    if (fork() != 0) return;
    signal(SIGTERM, SIG_IGN);
    setsid();
    if (fork() == 0) setsid();
    sleep_for_ever();
}

// Says in descriptor 3 what this process was born with: descriptors, signals, group, words.
static int report(int argc, char **argv)
{
    FILE *out = fdopen(3, "w");
    if (out == NULL) return 1;
    fprintf(out, "fds");
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder))
            fprintf(out, " %s", entry->d_name);
    closedir(folder);

    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    struct sigaction usr1, pipe_action;
    sigaction(SIGUSR1, NULL, &usr1);
    sigaction(SIGPIPE, NULL, &pipe_action);
    fprintf(out, "\nblocked %d default %d group %d words", sigismember(&mask, SIGTERM),
            usr1.sa_handler == SIG_DFL && pipe_action.sa_handler == SIG_DFL, getpgrp() == getpid());
    for (int i = 1; i < argc; i++)
        fprintf(out, " %s", argv[i]);
    const char *added = getenv("CORRAL_TEST_WORD");
    fprintf(out, "\nenvironment %s path %d\n", added != NULL ? added : "-", getenv("PATH") != NULL);
    fclose(out);
    return 0;
}

// Its grandchild lost its parent, is in this process's group, and alone holds descriptor 3.
static int leave_orphan_and_stay(void)
{
    const pid_t middle = fork();
    if (middle == 0) {
        if (fork() == 0) sleep_for_ever();
        _exit(0);
    }
    waitpid(middle, NULL, 0);
    if (write(3, "up", 2) != 2) return 1;
    close(3);
    sleep_for_ever();
    return 0;
}

int test_child_main(int argc, char **argv)
{
    const char *what = argv[1];
    if (strcmp(what, "report") == 0) return report(argc, argv);
    if (strcmp(what, "exit") == 0) return atoi(argv[2]);
    if (strcmp(what, "abort") == 0) signal(SIGABRT, SIG_DFL), abort();
    if (strcmp(what, "say") == 0) return fprintf(stderr, "%s\n", argv[2]) < 0;
    if (strcmp(what, "family-then-exit") == 0) {
        test_fork_stubborn_family();
        return 0;
    }
    if (strcmp(what, "family") == 0) test_fork_stubborn_family();
    if (strcmp(what, "orphan") == 0) return leave_orphan_and_stay();
    if (strcmp(what, "stubborn") == 0) signal(SIGTERM, SIG_IGN);
    if (write(3, "up", 2) != 2) return 1;
    sleep_for_ever();
    return 0;
}
