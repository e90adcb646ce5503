// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "coroutine.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { STACK_SIZE = 64 * 1024 };

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#include <ucontext.h>
typedef ucontext_t machine_state;
#else
typedef void *machine_state; // the stack pointer; the registers lie on the stack
#endif

struct coroutine {
    machine_state inside, outside;
    void (*run)(void *argument);
    void *argument;
    void *fake_inside, *fake_outside; // AddressSanitizer's own stacks
    const void *outside_bottom;
    size_t outside_size;
    unsigned char stack[STACK_SIZE] __attribute__((aligned(64)));
};

#if defined(__x86_64__)
/// Saves what the calling convention wants saved, changes stacks, and returns where the other one left.
void corral_shim_switch(void **save, void *load);
__asm__(".text\n"
        ".globl corral_shim_switch\n"
        ".hidden corral_shim_switch\n"
        ".type corral_shim_switch, @function\n"
        "corral_shim_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size corral_shim_switch, .-corral_shim_switch\n");
#endif

static void switch_machine(machine_state *from, machine_state *to)
{
#if defined(__x86_64__)
    corral_shim_switch(from, *to);
#else
    swapcontext(from, to);
#endif
}

static void leave(coroutine *c, bool for_good)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(for_good ? NULL : &c->fake_inside, c->outside_bottom, c->outside_size);
#endif
    (void)for_good;
    switch_machine(&c->inside, &c->outside);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(c->fake_inside, &c->outside_bottom, &c->outside_size);
#endif
}

static coroutine *starting; // how a new stack learns whose it is

static void begin(void)
{
    coroutine *c = starting;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(NULL, &c->outside_bottom, &c->outside_size);
#endif
    c->run(c->argument);
    leave(c, true);
}

coroutine *coroutine_create(void)
{
    return calloc(1, sizeof(coroutine));
}

void coroutine_destroy(coroutine *c)
{
    free(c);
}

void coroutine_start(coroutine *c, void (*run)(void *argument), void *argument)
{
    c->run = run;
    c->argument = argument;
#if defined(__x86_64__)
    // As if corral_shim_switch() had been called at the very start of begin(): six registers, its address,
    // and one word more, since a function begins with a return address on its stack.
    void **top = (void **)(void *)(c->stack + STACK_SIZE) - 8;
    for (int i = 0; i < 6; i++)
        top[i] = NULL;
    top[6] = (void *)(uintptr_t)begin;
    top[7] = NULL;
    c->inside = top;
#else
    getcontext(&c->inside);
    c->inside.uc_stack.ss_sp = c->stack;
    c->inside.uc_stack.ss_size = STACK_SIZE;
    c->inside.uc_link = NULL;
    makecontext(&c->inside, begin, 0);
#endif
}

void coroutine_resume(coroutine *c)
{
    starting = c;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&c->fake_outside, c->stack, STACK_SIZE);
#endif
    switch_machine(&c->outside, &c->inside);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(c->fake_outside, NULL, NULL);
#endif
}

void coroutine_yield(coroutine *c)
{
    leave(c, false);
}
