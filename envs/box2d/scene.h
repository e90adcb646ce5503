// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the environments on Box2D share: units, shapes, and pictures.
///
/// Lengths are in metres; a picture has 30 units to a metre and looks at a window of 20 x 13.3 metres.
#ifndef CORRAL_ENVS_BOX2D_SCENE_H
#define CORRAL_ENVS_BOX2D_SCENE_H

#include "corral/env.h"

#include <box2d/box2d.h>

#include <cmath>
#include <cstring>

namespace scene
{

constexpr int frames_per_second = 50;
constexpr float scale = 30;
constexpr float view_width = 600, view_height = 400; // of a picture
constexpr float width = view_width / scale, height = view_height / scale;
constexpr double pi = 3.14159265358979323846;

enum category : uint16 { ground_category = 0x0001, machine_category = 0x0020 };

constexpr uint32_t ink = 0x2f3640ff, paper = 0xf7f8faff, dark = 0x33475bff, pale = 0xc8ced6ff,
                   red = 0xc8553dff, yellow = 0xe8b84aff, green = 0x4f9d69ff, blue = 0x3d7ea6ff;

/// Writes a display list item by item; what does not fit is counted and not written.
class picture
{
  public:
    picture(corral_draw *items, uint32_t limit, float scroll) : items(items), limit(limit), scroll(scroll)
    {
    }

    void polygon(const b2Vec2 *points, int count, uint32_t color)
    {
        corral_draw item = start(CORRAL_DRAW_POLYGON, color, 0);
        for (int i = 0; i < count && i < CORRAL_DRAW_POINTS; i++)
            put(&item, points[i]);
        add(item);
    }

    void circle(const b2Vec2 &middle, float radius, uint32_t color)
    {
        corral_draw item = start(CORRAL_DRAW_CIRCLE, color, radius * scale);
        put(&item, middle);
        add(item);
    }

    void line(const b2Vec2 &from, const b2Vec2 &to, float line_width, uint32_t color)
    {
        corral_draw item = start(CORRAL_DRAW_LINE, color, line_width);
        put(&item, from);
        put(&item, to);
        add(item);
    }

    /// Every polygon that the body is made of.
    void body(const b2Body *body, uint32_t color)
    {
        for (const b2Fixture *f = body->GetFixtureList(); f != nullptr; f = f->GetNext()) {
            if (f->GetType() != b2Shape::e_polygon) continue;
            const auto *shape = static_cast<const b2PolygonShape *>(f->GetShape());
            b2Vec2 points[b2_maxPolygonVertices];
            for (int i = 0; i < shape->m_count; i++)
                points[i] = body->GetWorldPoint(shape->m_vertices[i]);
            polygon(points, shape->m_count, color);
        }
    }

    uint32_t count = 0;

  private:
    static corral_draw start(uint32_t kind, uint32_t color, float size)
    {
        corral_draw item;
        std::memset(&item, 0, sizeof item);
        item.kind = kind;
        item.color = color;
        item.size = size;
        return item;
    }

    void put(corral_draw *item, const b2Vec2 &at) const
    {
        item->point[item->point_count][0] = (at.x - scroll) * scale;
        item->point[item->point_count][1] = view_height - at.y * scale;
        item->point_count++;
    }

    void add(const corral_draw &item)
    {
        if (count < limit) items[count] = item;
        count++;
    }

    corral_draw *items;
    uint32_t limit;
    float scroll; // metres by which the window has moved to the right
};

inline b2FixtureDef fixture(const b2Shape *shape, float density, float friction)
{
    b2FixtureDef def;
    def.shape = shape;
    def.density = density;
    def.friction = friction;
    def.filter.categoryBits = machine_category;
    def.filter.maskBits = ground_category;
    return def;
}

inline b2Body *moving_body(b2World &world, const b2Vec2 &place, float angle, const b2FixtureDef &def)
{
    b2BodyDef body;
    body.type = b2_dynamicBody;
    body.position = place;
    body.angle = angle;
    b2Body *made = world.CreateBody(&body);
    made->CreateFixture(&def);
    return made;
}

inline double sign(double value)
{
    return value > 0 ? 1 : value < 0 ? -1 : 0;
}

inline double clip(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

} // namespace scene

#endif
