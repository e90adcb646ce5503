// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "sheet.h"

#include <stdlib.h>

enum { AREA_MAX = 1024 };

void sheet_begin(sheet *s, float width, float height, uint32_t background)
{
    if (s->canvas != NULL) {
        canvas_clip(s->canvas, NULL);
        canvas_clear(s->canvas, background);
        return;
    }
    fprintf(
        s->svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"DejaVu Sans, Verdana, "
        "sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#%06x\"/>\n",
        (double)width, (double)height, background >> 8);
}

void sheet_end(sheet *s)
{
    if (s->svg != NULL) fprintf(s->svg, "</svg>\n");
}

static void print_points(FILE *svg, const float (*point)[2], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        fprintf(svg, "%s%.2f,%.2f", i == 0 ? "" : " ", (double)point[i][0], (double)point[i][1]);
}

void sheet_line(sheet *s, const float (*point)[2], uint32_t count, float width, uint32_t color)
{
    if (s->canvas == NULL) {
        fprintf(s->svg,
                "<polyline fill=\"none\" stroke=\"#%06x\" stroke-opacity=\"%.3g\" stroke-width=\"%g\" "
                "stroke-linejoin=\"round\" stroke-linecap=\"round\" points=\"",
                color >> 8, (color & 0xff) / 255.0, (double)width);
        print_points(s->svg, point, count);
        fprintf(s->svg, "\"/>\n");
        return;
    }
    for (uint32_t i = 1; i < count; i++)
        canvas_line(s->canvas, point[i - 1][0] * s->scale, point[i - 1][1] * s->scale, point[i][0] * s->scale,
                    point[i][1] * s->scale, width * s->scale, color);
}

void sheet_area(sheet *s, const float (*point)[2], uint32_t count, uint32_t color)
{
    if (s->canvas == NULL) {
        fprintf(s->svg, "<polygon fill=\"#%06x\" fill-opacity=\"%.3g\" points=\"", color >> 8,
                (color & 0xff) / 255.0);
        print_points(s->svg, point, count);
        fprintf(s->svg, "\"/>\n");
        return;
    }
    float scaled[AREA_MAX][2];
    if (count > AREA_MAX) return;
    for (uint32_t i = 0; i < count; i++) {
        scaled[i][0] = point[i][0] * s->scale;
        scaled[i][1] = point[i][1] * s->scale;
    }
    canvas_polygon(s->canvas, (const float(*)[2])scaled, count, color);
}

static void print_escaped(FILE *svg, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '<')
            fputs("&lt;", svg);
        else if (*text == '&')
            fputs("&amp;", svg);
        else
            fputc(*text, svg);
    }
}

void sheet_text(sheet *s, float x, float y, text_style style, const char *text)
{
    if (s->canvas != NULL) {
        style.size *= s->scale;
        text_draw(s->canvas, s->fonts, x * s->scale, y * s->scale, style, text);
        return;
    }
    static const char *const anchors[] = {"start", "middle", "end"};
    fprintf(s->svg, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%g\" text-anchor=\"%s\"%s fill=\"#%06x\">",
            (double)x, (double)y, (double)style.size, anchors[style.anchor],
            style.bold ? " font-weight=\"bold\"" : "", style.color >> 8);
    print_escaped(s->svg, text);
    fprintf(s->svg, "</text>\n");
}
