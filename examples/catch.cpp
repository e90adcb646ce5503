/* SPDX-License-Identifier: Apache-2.0
 * Copyright (c) 2026 The Corral authors
 *
 * An environment in C++: a ball falls, and a paddle has to be below it when it lands. `Plugged` makes of any
 * class with reset and step what Corral asks for, so that the rules themselves are plain C++.
 *
 *     c++ -O2 -shared -fPIC -I envs/include examples/catch.cpp -o catch.so
 *     corral train --algo ppo --env ./catch.so:Catch-v0 */
#include <corral/env.h>

#include <cmath>
#include <exception>
#include <new>

/* No exception may leave a plug-in: what is thrown becomes the failure's sentence. */
template <class Game> struct Plugged {
    const corral_env_host *host;
    Game game;

    template <class Rules> static int32_t guarded(void *instance, Rules rules)
    {
        Plugged *self = static_cast<Plugged *>(instance);
        try {
            rules(*self);
            return 0;
        } catch (const std::exception &e) {
            self->host->error(e.what());
            return 1;
        }
    }
    static int32_t init(void *instance, const corral_env_host *host, const double *values)
    {
        try {
            new (instance) Plugged{host, Game(host, values)};
            return 0;
        } catch (const std::exception &e) {
            host->error(e.what());
            return 1;
        }
    }
    static void finish(void *instance)
    {
        static_cast<Plugged *>(instance)->~Plugged();
    }
    static int32_t reset(void *instance, uint64_t seed, void *observation)
    {
        return guarded(instance, [=](Plugged &p) { p.game.reset(seed, static_cast<float *>(observation)); });
    }
    static int32_t step(void *instance, const void *action, void *observation, corral_env_result *result)
    {
        return guarded(instance, [=](Plugged &p) {
            p.game.step(*static_cast<const int32_t *>(action), static_cast<float *>(observation), *result);
        });
    }
    static constexpr corral_env_single functions()
    {
        return {sizeof(Plugged), init, finish, reset, step};
    }
};

class Catch
{
  public:
    Catch(const corral_env_host *host, const double *values) : host(host), width(values[0])
    {
    }

    void reset(uint64_t seed, float *observation)
    {
        host->rng_seed(&rng, seed);
        paddle = 0.5;
        ball = host->rng_double(&rng);
        height = 1;
        observe(observation);
    }
    void step(int32_t action, float *observation, corral_env_result &result)
    {
        paddle = std::fmin(1, std::fmax(0, paddle + 0.06 * (action - 1)));
        height = std::fmax(0, height - 0.05);
        result.terminated = height < 1e-9;
        if (result.terminated) result.reward = std::fabs(ball - paddle) <= width / 2 ? 1 : -1;
        observe(observation);
    }

  private:
    void observe(float *to) const
    {
        to[0] = static_cast<float>(paddle);
        to[1] = static_cast<float>(ball);
        to[2] = static_cast<float>(height);
    }

    const corral_env_host *host;
    corral_env_rng rng{};
    double width, paddle = 0, ball = 0, height = 0;
};

/* Structs are zeroed first and then filled by name: what a later header adds stays 0. */
static corral_space sight()
{
    corral_space s{};
    s.path = "";
    s.kind = CORRAL_SPACE_BOX;
    s.dtype = CORRAL_SPACE_F32;
    s.dimension_count = 1;
    s.shape[0] = 3;
    s.high = 1;
    return s;
}

static corral_space moves()
{
    corral_space s{};
    s.path = "";
    s.kind = CORRAL_SPACE_DISCRETE;
    s.dtype = CORRAL_SPACE_I32;
    s.n = 3; /* left, stay, right */
    return s;
}

static const corral_space observation = sight(), action = moves();
static const corral_env_param params[] = {{"width", 0.2, 0.01, 1, "of the paddle"}};
static const corral_env_single functions = Plugged<Catch>::functions();

static corral_env_type describe()
{
    corral_env_type t{};
    t.size = sizeof t;
    t.id = "Catch-v0";
    t.summary = "be below the ball when it lands";
    t.spaces = {&observation, 1, &action, 1};
    t.params = params;
    t.param_count = 1;
    t.max_episode_steps = 100;
    t.reward_threshold = 0.9;
    t.single = &functions;
    return t;
}

static const corral_env_type types[] = {describe()};
CORRAL_ENV_EXPORT(types, 1);
