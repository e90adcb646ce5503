// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// LunarLander: a craft with a main engine and two at its sides has to come down softly on the pad between the
// flags. After Gymnasium's environment of this name and version (Klimov, 2016), whose constants these are.
// Debian's Box2D is a newer one than Gymnasium's, so episodes are alike and not the same; each one begins
// with a world of its own.
//
// The reward is what a shaping function gains, less fuel, and +100 or -100 at the end:
//
//     shaping = -100 (distance to the pad + speed + |angle|) + 10 for each leg on the ground

#include "types.h"

#include "scene.h"

#include <memory>
#include <new>

namespace
{

using namespace scene;

enum { gravity_param, wind_param, wind_power_param, turbulence_param };
constexpr int chunks = 11; // points of the ground
constexpr float leg_away = 20 / scale, leg_down = 18 / scale, leg_width = 2 / scale, leg_height = 8 / scale;
constexpr float main_power = 13, side_power = 0.6f, leg_torque = 40, first_push = 1000;
constexpr float main_height = 4 / scale, side_height = 14 / scale, side_away = 12 / scale,
                side_arm = 17 / scale;
constexpr float pad = height / 4;

struct lander : b2ContactListener {
    const corral_env_host *host;
    double gravity, wind_power, turbulence;
    bool wind, continuous;

    std::unique_ptr<b2World> world;
    b2Body *craft, *leg[2];
    float ground[chunks];
    corral_env_rng rng;
    bool leg_down_now[2], crashed;
    bool shaped; // `shaping` holds the last step's
    double shaping;
    int64_t wind_step, turn_step;
    double main_fire, side_fire; // of the last step, for the picture

    void reset(uint64_t seed);
    double step(double main, double side, float *observation, bool *over);
    void observe(float *out) const;

  private:
    double uniform(double low, double high)
    {
        return host->rng_uniform(&rng, low, high);
    }
    void make_ground();
    void make_leg(int which);
    void blow();
    void fire_main(double power, const b2Vec2 &tip, const b2Vec2 &side, const double *dispersion);
    void fire_side(double power, double direction, const b2Vec2 &tip, const b2Vec2 &side,
                   const double *dispersion);
    void touch(b2Contact *contact, bool begins);
    void BeginContact(b2Contact *contact) override
    {
        touch(contact, true);
    }
    void EndContact(b2Contact *contact) override
    {
        touch(contact, false);
    }
};

// --- the world

void lander::make_ground()
{
    double heights[chunks + 1];
    for (double &h : heights)
        h = uniform(0, height / 2);
    for (int i = chunks / 2 - 2; i <= chunks / 2 + 2; i++)
        heights[i] = pad;
    for (int i = 0; i < chunks; i++)
        ground[i] = float(0.33 * (heights[i == 0 ? chunks : i - 1] + heights[i] + heights[i + 1]));

    b2BodyDef still;
    b2Body *moon = world->CreateBody(&still);
    b2EdgeShape edge;
    edge.SetTwoSided(b2Vec2(0, 0), b2Vec2(width, 0));
    moon->CreateFixture(&edge, 0);
    b2FixtureDef def;
    def.shape = &edge;
    def.friction = 0.1f;
    for (int i = 0; i + 1 < chunks; i++) {
        const float each = width / (chunks - 1);
        edge.SetTwoSided(b2Vec2(each * float(i), ground[i]), b2Vec2(each * float(i + 1), ground[i + 1]));
        moon->CreateFixture(&def);
    }
}

void lander::make_leg(int which)
{
    const float hand = which == 0 ? -1 : 1;
    b2PolygonShape shape;
    shape.SetAsBox(leg_width, leg_height);
    const b2Vec2 place(craft->GetPosition().x - hand * leg_away, craft->GetPosition().y);
    leg[which] = moving_body(*world, place, hand * 0.05f, fixture(&shape, 1, 0.2f));

    b2RevoluteJointDef joint;
    joint.bodyA = craft;
    joint.bodyB = leg[which];
    joint.localAnchorB.Set(hand * leg_away, leg_down);
    joint.enableMotor = joint.enableLimit = true;
    joint.maxMotorTorque = leg_torque;
    joint.motorSpeed = 0.3f * hand;
    joint.lowerAngle = hand < 0 ? 0.4f : -0.9f;
    joint.upperAngle = hand < 0 ? 0.9f : -0.4f;
    world->CreateJoint(&joint);
    leg_down_now[which] = false;
}

void lander::reset(uint64_t seed)
{
    static const b2Vec2 hull[] = {{-14 / scale, 17 / scale},  {-17 / scale, 0},
                                  {-17 / scale, -10 / scale}, {17 / scale, -10 / scale},
                                  {17 / scale, 0 / scale},    {14 / scale, 17 / scale}};
    host->rng_seed(&rng, seed);
    world.reset(new b2World(b2Vec2(0, float(gravity))));
    world->SetContactListener(this);
    crashed = shaped = false;
    main_fire = side_fire = 0;
    make_ground();

    b2PolygonShape shape;
    shape.Set(hull, 6);
    craft = moving_body(*world, b2Vec2(width / 2, height), 0, fixture(&shape, 5, 0.1f));
    const double push_x = uniform(-first_push, first_push), push_y = uniform(-first_push, first_push);
    craft->ApplyForceToCenter(b2Vec2(float(push_x), float(push_y)), true);
    if (wind) {
        wind_step = host->rng_integer(&rng, 2 * 9999) - 9999;
        turn_step = host->rng_integer(&rng, 2 * 9999) - 9999;
    }
    make_leg(0);
    make_leg(1);
}

void lander::touch(b2Contact *contact, bool begins)
{
    const b2Body *a = contact->GetFixtureA()->GetBody(), *b = contact->GetFixtureB()->GetBody();
    if (begins && (a == craft || b == craft)) crashed = true;
    for (int i = 0; i < 2; i++)
        if (a == leg[i] || b == leg[i]) leg_down_now[i] = begins;
}

// --- a step

/// Gusts that never repeat, while no leg is on the ground.
void lander::blow()
{
    if (!wind || leg_down_now[0] || leg_down_now[1]) return;
    const auto gust = [](int64_t t) {
        return std::tanh(std::sin(0.02 * double(t)) + std::sin(pi * 0.01 * double(t)));
    };
    craft->ApplyForceToCenter(b2Vec2(float(gust(wind_step++) * wind_power), 0), true);
    craft->ApplyTorque(float(gust(turn_step++) * turbulence), true);
}

void lander::fire_main(double power, const b2Vec2 &tip, const b2Vec2 &side, const double *dispersion)
{
    const double along = main_height + 2 * dispersion[0];
    const double x = tip.x * along + side.x * dispersion[1], y = -tip.y * along - side.y * dispersion[1];
    const b2Vec2 at = craft->GetPosition() + b2Vec2(float(x), float(y));
    craft->ApplyLinearImpulse(b2Vec2(float(-x * main_power * power), float(-y * main_power * power)), at,
                              true);
}

void lander::fire_side(double power, double direction, const b2Vec2 &tip, const b2Vec2 &side,
                       const double *dispersion)
{
    const double across = 3 * dispersion[1] + direction * side_away;
    const double x = tip.x * dispersion[0] + side.x * across, y = -tip.y * dispersion[0] - side.y * across;
    // The two arms differ in the reference, too.
    const b2Vec2 at =
        craft->GetPosition() + b2Vec2(float(x - tip.x * side_arm), float(y + tip.y * side_height));
    craft->ApplyLinearImpulse(b2Vec2(float(-x * side_power * power), float(-y * side_power * power)), at,
                              true);
}

void lander::observe(float *out) const
{
    const b2Vec2 place = craft->GetPosition(), speed = craft->GetLinearVelocity();
    out[0] = (place.x - width / 2) / (width / 2);
    out[1] = (place.y - (pad + leg_down)) / (height / 2);
    out[2] = speed.x * (width / 2) / frames_per_second;
    out[3] = speed.y * (height / 2) / frames_per_second;
    out[4] = craft->GetAngle();
    out[5] = 20 * craft->GetAngularVelocity() / frames_per_second;
    out[6] = leg_down_now[0] ? 1 : 0;
    out[7] = leg_down_now[1] ? 1 : 0;
}

/// `main` is the engine's power, 0 to 1; `side` that of the one at the left (negative) or the right.
double lander::step(double main, double side, float *observation, bool *over)
{
    blow();
    const float angle = craft->GetAngle();
    const b2Vec2 tip(std::sin(angle), std::cos(angle)), across(-tip.y, tip.x);
    double dispersion[2]; // drawn whether an engine fires or not
    for (double &d : dispersion)
        d = uniform(-1, 1) / scale;
    if (main > 0) fire_main(main, tip, across, dispersion);
    if (side != 0) fire_side(std::fabs(side), sign(side), tip, across, dispersion);
    main_fire = main;
    side_fire = side;
    world->Step(1.0f / frames_per_second, 6 * 30, 2 * 30);

    observe(observation);
    const float *o = observation;
    const double now = -100 * std::sqrt(double(o[0]) * o[0] + double(o[1]) * o[1]) -
                       100 * std::sqrt(double(o[2]) * o[2] + double(o[3]) * o[3]) - 100 * std::fabs(o[4]) +
                       10 * o[6] + 10 * o[7];
    double reward = shaped ? now - shaping : 0;
    shaped = true;
    shaping = now;
    reward -= main * 0.30 + std::fabs(side) * 0.03;

    *over = crashed || std::fabs(o[0]) >= 1 || !craft->IsAwake();
    if (crashed || std::fabs(o[0]) >= 1) reward = -100;
    if (!craft->IsAwake()) reward = 100; // at rest
    return reward;
}

// --- as an environment

int32_t init(void *instance, const corral_env_host *host, const double *values, bool continuous)
{
    lander *l = new (instance) lander();
    l->host = host;
    l->gravity = values[gravity_param];
    l->wind = values[wind_param] != 0;
    l->wind_power = values[wind_power_param];
    l->turbulence = values[turbulence_param];
    l->continuous = continuous;
    return 0;
}

int32_t init_discrete(void *instance, const corral_env_host *host, const double *values)
{
    return init(instance, host, values, false);
}

int32_t init_continuous(void *instance, const corral_env_host *host, const double *values)
{
    return init(instance, host, values, true);
}

void finish(void *instance)
{
    static_cast<lander *>(instance)->~lander();
}

/// The first observation is that of a step in which nothing was done.
int32_t reset(void *instance, uint64_t seed, void *observation)
{
    lander *l = static_cast<lander *>(instance);
    bool over;
    l->reset(seed);
    l->step(0, 0, static_cast<float *>(observation), &over);
    return 0;
}

int32_t step_discrete(void *instance, const void *action, void *observation, corral_env_result *result)
{
    enum { nothing, left_engine, main_engine, right_engine };
    const int32_t choice = *static_cast<const int32_t *>(action);
    const double side = choice == left_engine ? -1 : choice == right_engine ? 1 : 0;
    bool over;
    result->reward = static_cast<lander *>(instance)->step(choice == main_engine ? 1 : 0, side,
                                                           static_cast<float *>(observation), &over);
    result->terminated = over;
    return 0;
}

/// The main engine is off or between half and full; one at the sides fires from half on.
int32_t step_continuous(void *instance, const void *action, void *observation, corral_env_result *result)
{
    const float *power = static_cast<const float *>(action);
    const double first = clip(power[0], -1, 1), second = clip(power[1], -1, 1);
    const double main = first > 0 ? (first + 1) * 0.5 : 0, side = std::fabs(second) > 0.5 ? second : 0;
    bool over;
    result->reward =
        static_cast<lander *>(instance)->step(main, side, static_cast<float *>(observation), &over);
    result->terminated = over;
    return 0;
}

// --- picture

void draw_flag(picture *p, float x)
{
    const b2Vec2 top(x, pad + 50 / scale);
    p->line(b2Vec2(x, pad), top, 1.5f, ink);
    const b2Vec2 cloth[] = {top, {x, pad + 40 / scale}, {x + 25 / scale, pad + 45 / scale}};
    p->polygon(cloth, 3, yellow);
}

void draw_flame(picture *p, const b2Body *craft, const b2Vec2 &from, const b2Vec2 &to, float half)
{
    const b2Vec2 across = half * b2Vec2(to.y - from.y, from.x - to.x);
    const b2Vec2 flame[] = {craft->GetWorldPoint(from + across), craft->GetWorldPoint(from - across),
                            craft->GetWorldPoint(to)};
    p->polygon(flame, 3, yellow);
}

uint32_t draw(const void *instance, uint32_t, corral_draw *out_items, uint32_t limit)
{
    const lander *l = static_cast<const lander *>(instance);
    picture p(out_items, limit, 0);
    if (l->world == nullptr) return 0;
    const float each = width / (chunks - 1);
    for (int i = 0; i + 1 < chunks; i++) {
        const b2Vec2 ground[] = {{each * float(i), l->ground[i]},
                                 {each * float(i + 1), l->ground[i + 1]},
                                 {each * float(i + 1), 0},
                                 {each * float(i), 0}};
        p.polygon(ground, 4, pale);
    }
    draw_flag(&p, each * (chunks / 2 - 1));
    draw_flag(&p, each * (chunks / 2 + 1));
    if (l->main_fire > 0)
        draw_flame(&p, l->craft, b2Vec2(0, -10 / scale), b2Vec2(0, float(-10 - 30 * l->main_fire) / scale),
                   0.2f);
    if (l->side_fire != 0) {
        const float hand = l->side_fire < 0 ? -1 : 1;
        draw_flame(&p, l->craft, b2Vec2(hand * 15 / scale, 12 / scale), b2Vec2(hand * 30 / scale, 12 / scale),
                   0.2f);
    }
    p.body(l->leg[0], blue);
    p.body(l->leg[1], blue);
    p.body(l->craft, dark);
    return p.count;
}

// --- a person at the keys

constexpr char keys_help[] = "up fires the main engine, left and right turn";

void keys_discrete(const void *, uint32_t, uint32_t held, const corral_env_rows *out_action)
{
    *static_cast<int32_t *>(out_action[0].data) = held & CORRAL_KEY_UP      ? 2
                                                  : held & CORRAL_KEY_LEFT  ? 1
                                                  : held & CORRAL_KEY_RIGHT ? 3
                                                                            : 0;
}

void keys_continuous(const void *, uint32_t, uint32_t held, const corral_env_rows *out_action)
{
    float *power = static_cast<float *>(out_action[0].data);
    power[0] = held & CORRAL_KEY_UP ? 1 : -1;
    power[1] = held & CORRAL_KEY_LEFT ? -1 : held & CORRAL_KEY_RIGHT ? 1 : 0;
}

// --- abilities

const void *extension(const char *name)
{
    static const corral_env_render render = {sizeof render, view_width, view_height, paper, draw};
    return std::strcmp(name, CORRAL_ENV_RENDER) == 0 ? &render : nullptr;
}

const void *extension_discrete(const char *name)
{
    static const corral_env_keys keys = {sizeof keys, keys_help, keys_discrete};
    return std::strcmp(name, CORRAL_ENV_KEYS) == 0 ? &keys : extension(name);
}

const void *extension_continuous(const char *name)
{
    static const corral_env_keys keys = {sizeof keys, keys_help, keys_continuous};
    return std::strcmp(name, CORRAL_ENV_KEYS) == 0 ? &keys : extension(name);
}

// --- description

// The reference states bounds for all, 2 pi for the angle; a craft that spins or flies away goes beyond them.
constexpr double any = HUGE_VAL;
const double low[8] = {-2.5, -any, -any, -any, -any, -any, 0, 0},
             high[8] = {2.5, any, any, any, any, any, 1, 1};
const corral_space observation = {"", CORRAL_SPACE_BOX, CORRAL_SPACE_F32, 1, {8}, 0, 0, low, high, 0,
                                  0,  nullptr};
const corral_space engines = {
    "", CORRAL_SPACE_DISCRETE, CORRAL_SPACE_I32, 0, {}, 0, 0, nullptr, nullptr, 4, 0, nullptr};
const corral_space powers = {"", CORRAL_SPACE_BOX, CORRAL_SPACE_F32, 1, {2}, -1,
                             1,  nullptr,          nullptr,          0, 0,   nullptr};

const corral_env_param params[] = {
    {"gravity", -10, -11.9, -0.1, "downwards is negative"},
    {"enable_wind", 0, 0, 1, "a flag"},
    {"wind_power", 15, 0, 20, "of the gusts"},
    {"turbulence_power", 1.5, 0, 2, "of the gusts that turn"},
};
const corral_env_single discrete = {sizeof(lander), init_discrete, finish, reset, step_discrete};
const corral_env_single continuous = {sizeof(lander), init_continuous, finish, reset, step_continuous};

corral_env_type describe(const char *id, const char *summary, const corral_space *action,
                         const corral_env_single *single, const void *(*abilities)(const char *name))
{
    corral_env_type type = {};
    type.size = sizeof type;
    type.id = id;
    type.summary = summary;
    type.spaces = {&observation, 1, action, 1};
    type.params = params;
    type.param_count = sizeof params / sizeof *params;
    type.max_episode_steps = 1000;
    type.reward_threshold = 200;
    type.render_fps = frames_per_second;
    type.single = single;
    type.extension = abilities;
    return type;
}

} // namespace

corral_env_type box2d_lunar_lander()
{
    return describe("LunarLander-v3", "land softly between the flags: nothing, left, main or right engine",
                    &engines, &discrete, extension_discrete);
}

corral_env_type box2d_lunar_lander_continuous()
{
    return describe("LunarLanderContinuous-v3",
                    "land softly between the flags: power of main and side engines", &powers, &continuous,
                    extension_continuous);
}
