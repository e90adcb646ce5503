// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// BipedalWalker: a hull on two legs with four motors has to walk to the end of rough ground without falling.
// After Gymnasium's environment of this name and version (Klimov, 2016), whose constants these are; with a
// newer Box2D than Gymnasium's, so that episodes are alike and not the same. The hardcore variant has stumps,
// stairs and pits.
//
// The reward is the way forward, less the effort of the motors and of a hull that is not level; a fall costs
// 100.

#include "types.h"

#include "scene.h"

#include <memory>
#include <new>
#include <vector>

namespace
{

using namespace scene;

constexpr float torque = 80, hip_speed = 4, knee_speed = 6, lidar_range = 160 / scale, first_push = 5;
constexpr float leg_down = -8 / scale, leg_width = 8 / scale, leg_height = 34 / scale;
constexpr float stride = 14 / scale; // from one point of the ground to the next
constexpr float level = height / 4;
constexpr int length = 200, grass = 10, start_pad = 20, rays = 10, joints = 4, observations = 14 + rays;

struct obstacle {
    b2Vec2 corner[4];
};

struct walker : b2ContactListener {
    const corral_env_host *host;
    bool hardcore;
    std::unique_ptr<b2World> world;
    b2Body *hull, *leg[4]; // upper, lower, upper, lower
    b2RevoluteJoint *joint[joints];
    bool foot_down[2], fallen, shaped;
    double shaping;
    float ground[length];
    std::vector<obstacle> obstacles;
    corral_env_rng rng;

    void reset(uint64_t seed);
    double step(const float *action, float *observation, bool *over);

  private:
    void make_ground();
    void make_obstacle(float left, float bottom, float right, float top);
    void make_machine();
    b2RevoluteJoint *make_joint(b2Body *above, b2Body *below, const b2Vec2 &above_anchor, float speed,
                                float lower, float upper);
    void observe(float *out) const;
    void touch(b2Contact *contact, bool begins);
    void BeginContact(b2Contact *contact) override
    {
        touch(contact, true);
    }
    void EndContact(b2Contact *contact) override
    {
        touch(contact, false);
    }
    int draw_between(int low, int high)
    {
        return low + int(host->rng_integer(&rng, high - low));
    }
};

// --- the ground

void walker::make_obstacle(float left, float bottom, float right, float top)
{
    const obstacle o = {{{left, bottom}, {right, bottom}, {right, top}, {left, top}}};
    b2PolygonShape shape;
    shape.Set(o.corner, 4);
    b2FixtureDef def;
    def.shape = &shape;
    def.friction = 2.5f;
    b2BodyDef still;
    world->CreateBody(&still)->CreateFixture(&def);
    obstacles.push_back(o);
}

/// Hills with now and then, if it is to be hard, something in the way.
void walker::make_ground()
{
    enum { hills, stump, stairs, pit, kinds };
    int kind = hills, counter = start_pad, stair_steps = 0, stair_width = 0, stair_height = 0;
    bool begins = false;
    float y = level, before = level;
    double slope = 0;
    for (int i = 0; i < length; i++) {
        const float x = float(i) * stride;
        if (kind == hills && !begins) {
            slope = 0.8 * slope + 0.01 * sign(level - y);
            if (i > start_pad) slope += host->rng_uniform(&rng, -1, 1) / scale;
            y += float(slope);
        } else if (kind == pit && begins) {
            counter = draw_between(3, 5);
            make_obstacle(x, y - 4 * stride, x + stride, y);
            make_obstacle(x + stride * float(counter), y - 4 * stride, x + stride * float(counter + 1), y);
            counter += 2;
            before = y;
        } else if (kind == pit) {
            y = counter > 1 ? before - 4 * stride : before;
        } else if (kind == stump && begins) {
            counter = draw_between(1, 3);
            make_obstacle(x, y, x + stride * float(counter), y + stride * float(counter));
        } else if (kind == stairs && begins) {
            stair_height = host->rng_double(&rng) > 0.5 ? 1 : -1;
            stair_width = draw_between(4, 5);
            stair_steps = draw_between(3, 5);
            before = y;
            for (int s = 0; s < stair_steps; s++)
                make_obstacle(x + float(s * stair_width) * stride, y + float(s * stair_height - 1) * stride,
                              x + float((s + 1) * stair_width) * stride,
                              y + float(s * stair_height) * stride);
            counter = stair_steps * stair_width;
        } else if (kind == stairs) {
            const int s = stair_steps * stair_width - counter - stair_height;
            y = before + float(s) / float(stair_width) * float(stair_height) * stride;
        }
        begins = false;
        ground[i] = y;
        if (--counter > 0) continue;
        counter = draw_between(grass / 2, grass);
        kind = kind == hills && hardcore ? draw_between(1, kinds) : hills;
        begins = true;
    }

    b2BodyDef still;
    b2EdgeShape edge;
    b2FixtureDef def;
    def.shape = &edge;
    def.friction = 2.5f;
    b2Body *earth = world->CreateBody(&still);
    for (int i = 0; i + 1 < length; i++) {
        edge.SetTwoSided(b2Vec2(float(i) * stride, ground[i]), b2Vec2(float(i + 1) * stride, ground[i + 1]));
        earth->CreateFixture(&def);
    }
}

// --- the machine

b2RevoluteJoint *walker::make_joint(b2Body *above, b2Body *below, const b2Vec2 &above_anchor, float speed,
                                    float lower, float upper)
{
    b2RevoluteJointDef def;
    def.bodyA = above;
    def.bodyB = below;
    def.localAnchorA = above_anchor;
    def.localAnchorB.Set(0, leg_height / 2);
    def.enableMotor = def.enableLimit = true;
    def.maxMotorTorque = torque;
    def.motorSpeed = speed;
    def.lowerAngle = lower;
    def.upperAngle = upper;
    return static_cast<b2RevoluteJoint *>(world->CreateJoint(&def));
}

void walker::make_machine()
{
    static const b2Vec2 corners[] = {{-30 / scale, 9 / scale},
                                     {6 / scale, 9 / scale},
                                     {34 / scale, 1 / scale},
                                     {34 / scale, -8 / scale},
                                     {-30 / scale, -8 / scale}};
    const float x = stride * start_pad / 2, y = level + 2 * leg_height;
    b2PolygonShape shape;
    shape.Set(corners, 5);
    hull = moving_body(*world, b2Vec2(x, y), 0, fixture(&shape, 5, 0.1f));
    hull->ApplyForceToCenter(b2Vec2(float(host->rng_uniform(&rng, -first_push, first_push)), 0), true);

    for (int side = 0; side < 2; side++) {
        const float hand = side == 0 ? -1 : 1;
        b2Body **upper = &leg[2 * side], **lower = &leg[2 * side + 1];
        shape.SetAsBox(leg_width / 2, leg_height / 2);
        *upper = moving_body(*world, b2Vec2(x, y - leg_height / 2 - leg_down), hand * 0.05f,
                             fixture(&shape, 1, 0.2f));
        joint[2 * side] = make_joint(hull, *upper, b2Vec2(0, leg_down), hand, -0.8f, 1.1f);
        shape.SetAsBox(0.8f * leg_width / 2, leg_height / 2);
        *lower = moving_body(*world, b2Vec2(x, y - leg_height * 3 / 2 - leg_down), hand * 0.05f,
                             fixture(&shape, 1, 0.2f));
        joint[2 * side + 1] = make_joint(*upper, *lower, b2Vec2(0, -leg_height / 2), 1, -1.6f, -0.1f);
        foot_down[side] = false;
    }
}

void walker::reset(uint64_t seed)
{
    host->rng_seed(&rng, seed);
    world.reset(new b2World(b2Vec2(0, -10)));
    world->SetContactListener(this);
    obstacles.clear();
    fallen = shaped = false;
    make_ground();
    make_machine();
}

void walker::touch(b2Contact *contact, bool begins)
{
    const b2Body *a = contact->GetFixtureA()->GetBody(), *b = contact->GetFixtureB()->GetBody();
    if (begins && (a == hull || b == hull)) fallen = true;
    for (int side = 0; side < 2; side++)
        if (a == leg[2 * side + 1] || b == leg[2 * side + 1]) foot_down[side] = begins;
}

// --- a step

/// How far a ray goes, as a share of its length; it sees the ground alone.
struct ray : b2RayCastCallback {
    float share = 1;
    float ReportFixture(b2Fixture *fixture, const b2Vec2 &, const b2Vec2 &, float fraction) override
    {
        if ((fixture->GetFilterData().categoryBits & ground_category) == 0) return -1;
        share = fraction;
        return fraction;
    }
};

b2Vec2 ray_end(const b2Vec2 &from, int index)
{
    const float angle = 1.5f * float(index) / rays;
    return from + b2Vec2(std::sin(angle) * lidar_range, -std::cos(angle) * lidar_range);
}

void walker::observe(float *out) const
{
    const b2Vec2 speed = hull->GetLinearVelocity();
    *out++ = hull->GetAngle();
    *out++ = 2 * hull->GetAngularVelocity() / frames_per_second;
    *out++ = 0.3f * speed.x * width / frames_per_second;
    *out++ = 0.3f * speed.y * height / frames_per_second;
    for (int side = 0; side < 2; side++) {
        *out++ = joint[2 * side]->GetJointAngle();
        *out++ = joint[2 * side]->GetJointSpeed() / hip_speed;
        *out++ = joint[2 * side + 1]->GetJointAngle() + 1;
        *out++ = joint[2 * side + 1]->GetJointSpeed() / knee_speed;
        *out++ = foot_down[side] ? 1 : 0;
    }
    for (int i = 0; i < rays; i++) {
        ray seen;
        world->RayCast(&seen, hull->GetPosition(), ray_end(hull->GetPosition(), i));
        *out++ = seen.share;
    }
}

double walker::step(const float *action, float *observation, bool *over)
{
    for (int i = 0; i < joints; i++) {
        joint[i]->SetMotorSpeed((i % 2 == 0 ? hip_speed : knee_speed) * float(sign(action[i])));
        joint[i]->SetMaxMotorTorque(torque * float(clip(std::fabs(action[i]), 0, 1)));
    }
    world->Step(1.0f / frames_per_second, 6 * 30, 2 * 30);
    observe(observation);

    const float x = hull->GetPosition().x;
    const double now = 130 * double(x) / scale - 5 * std::fabs(double(observation[0]));
    double reward = shaped ? now - shaping : 0;
    shaped = true;
    shaping = now;
    for (int i = 0; i < joints; i++)
        reward -= 0.00035 * torque * clip(std::fabs(action[i]), 0, 1);

    const bool lost = fallen || x < 0;
    if (lost) reward = -100;
    *over = lost || x > (length - grass) * stride;
    return reward;
}

// --- as an environment

template <bool hardcore> int32_t init(void *instance, const corral_env_host *host, const double *)
{
    walker *w = new (instance) walker();
    w->host = host;
    w->hardcore = hardcore;
    return 0;
}

void finish(void *instance)
{
    static_cast<walker *>(instance)->~walker();
}

/// The first observation is that of a step in which nothing was done.
int32_t reset(void *instance, uint64_t seed, void *observation)
{
    static const float nothing[joints] = {};
    walker *w = static_cast<walker *>(instance);
    bool over;
    w->reset(seed);
    w->step(nothing, static_cast<float *>(observation), &over);
    return 0;
}

int32_t step(void *instance, const void *action, void *observation, corral_env_result *result)
{
    bool over;
    result->reward = static_cast<walker *>(instance)->step(static_cast<const float *>(action),
                                                           static_cast<float *>(observation), &over);
    result->terminated = over;
    return 0;
}

// --- picture

uint32_t draw(const void *instance, uint32_t, corral_draw *out_items, uint32_t limit)
{
    const walker *w = static_cast<const walker *>(instance);
    if (w->world == nullptr) return 0;
    const float scroll = w->hull->GetPosition().x - width / 5;
    picture p(out_items, limit, scroll);
    for (int i = 0; i + 1 < length; i++) {
        const float left = float(i) * stride;
        if (left + stride < scroll || left > scroll + width) continue;
        const b2Vec2 ground[] = {
            {left, w->ground[i]}, {left + stride, w->ground[i + 1]}, {left + stride, 0}, {left, 0}};
        p.polygon(ground, 4, i % 2 == 0 ? 0x8fbf9fff : 0x86b696ff);
    }
    for (const obstacle &o : w->obstacles)
        p.polygon(o.corner, 4, ink);
    const float flag = stride * 3;
    p.line(b2Vec2(flag, level), b2Vec2(flag, level + 50 / scale), 1.5f, ink);
    const b2Vec2 cloth[] = {
        {flag, level + 50 / scale}, {flag, level + 40 / scale}, {flag + 25 / scale, level + 45 / scale}};
    p.polygon(cloth, 3, red);
    for (int i = 0; i < 2; i++)
        p.body(w->leg[i], 0x6f9fc0ff); // behind the hull
    p.body(w->hull, dark);
    for (int i = 2; i < 4; i++)
        p.body(w->leg[i], blue);
    return p.count;
}

const void *extension(const char *name)
{
    static const corral_env_render render = {sizeof render, view_width, view_height, paper, draw};
    return std::strcmp(name, CORRAL_ENV_RENDER) == 0 ? &render : nullptr;
}

// --- description

const double low[observations] = {-pi, -5, -5, -5, -pi, -5, -pi, -5, 0,  -pi, -5, -pi,
                                  -5,  0,  -1, -1, -1,  -1, -1,  -1, -1, -1,  -1, -1};
const double high[observations] = {pi, 5, 5, 5, pi, 5, pi, 5, 5, pi, 5, pi,
                                   5,  5, 1, 1, 1,  1, 1,  1, 1, 1,  1, 1};
const corral_space observation = {
    "", CORRAL_SPACE_BOX, CORRAL_SPACE_F32, 1, {observations}, 0, 0, low, high, 0, 0, nullptr};
const corral_space motors = {"", CORRAL_SPACE_BOX, CORRAL_SPACE_F32, 1, {joints}, -1,
                             1,  nullptr,          nullptr,          0, 0,        nullptr};
const corral_env_single easy = {sizeof(walker), init<false>, finish, reset, step};
const corral_env_single hard = {sizeof(walker), init<true>, finish, reset, step};

corral_env_type describe(const char *id, const char *summary, const corral_env_single *single, uint32_t limit)
{
    corral_env_type type = {};
    type.size = sizeof type;
    type.id = id;
    type.summary = summary;
    type.spaces = {&observation, 1, &motors, 1};
    type.max_episode_steps = limit;
    type.reward_threshold = 300;
    type.render_fps = frames_per_second;
    type.single = single;
    type.extension = extension;
    return type;
}

} // namespace

corral_env_type box2d_bipedal_walker()
{
    return describe("BipedalWalker-v3", "walk over hills on two legs: the motors of hips and knees", &easy,
                    1600);
}

corral_env_type box2d_bipedal_walker_hardcore()
{
    return describe("BipedalWalkerHardcore-v3", "the same with stumps, stairs and pits in the way", &hard,
                    2000);
}
