// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors
//
// An environment in Rust: a beacon stands somewhere on a line, and you walk there. docs/rust.md goes through it.
//
//     rustc -O --crate-type cdylib examples/beacon.rs -o beacon.so
//     corral train --algo ppo --env ./beacon.so:Beacon-v0

use std::os::raw::{c_char, c_void};
use std::ptr::null;

// --- corral/env.h, as far as it is needed here: the same fields in the same order ------------------------------------

const BOX: u32 = 1;
const DISCRETE: u32 = 2;
const F32: u32 = 1;
const I32: u32 = 4;

#[repr(C)]
struct Space {
    path: *const c_char,
    kind: u32,
    dtype: u32,
    dimension_count: u32,
    shape: [u32; 4],
    low: f64,
    high: f64,
    low_each: *const f64,
    high_each: *const f64,
    n: i64,
    start: i64,
    nvec: *const i64,
}

#[repr(C)]
struct Spaces {
    observation: *const Space,
    observation_count: u32,
    action: *const Space,
    action_count: u32,
}

#[repr(C)]
struct Rng {
    word: [u64; 4],
    spare: u32,
    has_spare: u32,
}

#[repr(C)]
struct Host {
    size: u32,
    abi_minor: u32,
    rng_seed: extern "C" fn(*mut Rng, u64),
    rng_double: extern "C" fn(*mut Rng) -> f64,
    // What follows is not used here.
}

#[repr(C)]
struct StepResult {
    reward: f64,
    terminated: u8,
    truncated: u8,
}

#[repr(C)]
struct Single {
    instance_size: usize,
    init: unsafe extern "C" fn(*mut Beacon, *const Host, *const f64) -> i32,
    finish: Option<unsafe extern "C" fn(*mut Beacon)>,
    reset: unsafe extern "C" fn(*mut Beacon, u64, *mut [f32; 2]) -> i32,
    step: unsafe extern "C" fn(*mut Beacon, *const i32, *mut [f32; 2], *mut StepResult) -> i32,
}

#[repr(C)]
pub struct Type {
    size: u32,
    id: *const c_char,
    summary: *const c_char,
    spaces: Spaces,
    params: *const c_void,
    param_count: u32,
    max_episode_steps: u32,
    reward_threshold: f64,
    render_fps: f64,
    single: *const Single,
    batch: *const c_void,
    extension: *const c_void,
}

#[repr(C)]
pub struct Plugin {
    abi_major: u32,
    abi_minor: u32,
    size: u32,
    type_count: u32,
    types: *const Type,
}

// They point to constants alone, which any thread may read.
unsafe impl Sync for Space {}
unsafe impl Sync for Single {}
unsafe impl Sync for Type {}
unsafe impl Sync for Plugin {}

// --- the rules -------------------------------------------------------------------------------------------------------

/// One instance. The host zeroes it before `init`, so every field must be at home in zeros.
#[repr(C)]
struct Beacon {
    host: *const Host,
    rng: Rng,
    position: f64,
    beacon: f64,
}

impl Beacon {
    fn seen(&self) -> [f32; 2] {
        [self.position as f32, self.beacon as f32]
    }

    fn chance(&mut self) -> f64 {
        unsafe { ((*self.host).rng_double)(&mut self.rng) }
    }
}

unsafe extern "C" fn init(game: *mut Beacon, host: *const Host, _values: *const f64) -> i32 {
    (*game).host = host;
    0
}

unsafe extern "C" fn reset(game: *mut Beacon, seed: u64, observation: *mut [f32; 2]) -> i32 {
    let game = &mut *game;
    ((*game.host).rng_seed)(&mut game.rng, seed);
    game.position = game.chance();
    game.beacon = game.chance();
    *observation = game.seen();
    0
}

unsafe extern "C" fn step(
    game: *mut Beacon,
    action: *const i32,
    observation: *mut [f32; 2],
    result: *mut StepResult,
) -> i32 {
    let game = &mut *game;
    game.position = (game.position + 0.05 * f64::from(*action - 1)).clamp(0.0, 1.0);
    let there = (game.position - game.beacon).abs() < 0.03;
    (*result).terminated = u8::from(there);
    (*result).reward = if there { 1.0 } else { -0.02 };
    *observation = game.seen();
    0
}

// --- the descriptor --------------------------------------------------------------------------------------------------

static OBSERVATION: Space = Space {
    path: b"\0".as_ptr().cast(),
    kind: BOX,
    dtype: F32,
    dimension_count: 1,
    shape: [2, 0, 0, 0],
    low: 0.0,
    high: 1.0,
    low_each: null(),
    high_each: null(),
    n: 0,
    start: 0,
    nvec: null(),
};

static ACTION: Space = Space {
    path: b"\0".as_ptr().cast(),
    kind: DISCRETE,
    dtype: I32,
    dimension_count: 0,
    shape: [0; 4],
    low: 0.0,
    high: 0.0,
    low_each: null(),
    high_each: null(),
    n: 3, // left, stay, right
    start: 0,
    nvec: null(),
};

static SINGLE: Single =
    Single { instance_size: std::mem::size_of::<Beacon>(), init, finish: None, reset, step };

static TYPE: Type = Type {
    size: std::mem::size_of::<Type>() as u32,
    id: b"Beacon-v0\0".as_ptr().cast(),
    summary: b"walk to the beacon\0".as_ptr().cast(),
    spaces: Spaces { observation: &OBSERVATION, observation_count: 1, action: &ACTION, action_count: 1 },
    params: null(),
    param_count: 0,
    max_episode_steps: 60,
    reward_threshold: 0.8,
    render_fps: 0.0,
    single: &SINGLE,
    batch: null(),
    extension: null(),
};

/// Version 1.0 of the interface: what came later is not in these structs, and their sizes say so.
#[no_mangle]
#[allow(non_upper_case_globals)]
pub static corral_env_plugin: Plugin = Plugin {
    abi_major: 1,
    abi_minor: 0,
    size: std::mem::size_of::<Plugin>() as u32,
    type_count: 1,
    types: &TYPE,
};
