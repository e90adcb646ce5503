// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "screen.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDEST = 100, NARROWEST = 36, LABEL = 13, FRAME = 4, LEVELS = 8 };

struct screen_glyphs {
    const char *top_left, *top_right, *bottom_left, *bottom_right, *across, *down, *full, *empty, *plus_minus;
    const char *level[LEVELS];
};

static const screen_glyphs unicode = {"╭", "╮", "╰", "╯", "─",
                                      "│", "━", "╌", "±", {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}};
static const screen_glyphs ascii = {"+", "+", "+", "+",  "-",
                                    "|", "#", ".", "+-", {"_", ".", ",", "-", "=", "+", "*", "#"}};

// --- what the terminal is
// --------------------------------------------------------------------------------------------

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

// Where no locale is set, as in most containers, the terminal behind it still reads UTF-8; only a locale that
// says otherwise is taken at its word.
static bool reads_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_set(names[i])) {
            const char *dot = strchr(getenv(names[i]), '.');
            return dot != NULL && (strncasecmp(dot, ".utf-8", 6) == 0 || strncasecmp(dot, ".utf8", 5) == 0);
        }
    return true;
}

bool screen_is_possible(void)
{
    return isatty(STDOUT_FILENO) && is_set("TERM") && strcmp(getenv("TERM"), "dumb") != 0;
}

void screen_init(screen *s)
{
    *s = (screen){.color = !is_set("NO_COLOR"), .glyphs = reads_utf8() ? &unicode : &ascii};
}

static void find_size(int *out_width, int *out_height)
{
    struct winsize size;
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    *out_width = known ? size.ws_col : 80;
    *out_height = known ? size.ws_row : 24;
}

// --- text
// ------------------------------------------------------------------------------------------------------------

// Cells that a UTF-8 text takes: one for each character that we use.
static int cells_of(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

// Bytes of the longest beginning that takes at most `limit` cells.
static int bytes_within(const char *text, int limit)
{
    int at = 0, count = 0;
    while (text[at] != '\0') {
        if (((unsigned char)text[at] & 0xc0) != 0x80 && ++count > limit) break;
        at++;
    }
    return at;
}

// The same for a row, which rather ends between two of its parts, or two words, than inside one.
static int bytes_of_row(const char *text, int limit)
{
    const int most = bytes_within(text, limit);
    if (text[most] == '\0') return most;
    int part = 0, word = 0;
    for (int at = 1; at <= most; at++) {
        if (text[at] == ' ') word = at;
        if (text[at] == ',' && text[at + 1] == ' ') part = at;
    }
    return part > 0 ? part : word > most / 2 ? word : most;
}

// Appends as long as there is room for all of it.
static void append(char *out, size_t size, const char *text)
{
    const size_t used = strlen(out), more = strlen(text);
    if (used + more < size) memcpy(out + used, text, more + 1);
}

// --- the box
// ---------------------------------------------------------------------------------------------------------

static int box_width(const screen *s)
{
    // One cell stays free, as a line that is full to the last cell wraps on some terminals.
    return s->width - 1 < WIDEST ? s->width - 1 : WIDEST;
}

int screen_room(const screen *s)
{
    return box_width(s) - FRAME - LABEL;
}

static void edge(screen *s, const char *left, const char *right, const char *title)
{
    const int room = box_width(s) - 2;
    char text[400];
    snprintf(text, sizeof text, "%s", title);
    text[bytes_of_row(text, room - 2)] = '\0';
    int used = 0;
    fputs(left, stdout);
    if (text[0] != '\0') {
        printf(" %s ", text);
        used = cells_of(text) + 2;
    }
    for (; used < room; used++)
        fputs(s->glyphs->across, stdout);
    printf("%s\033[K\n", right);
    s->lines++;
}

bool screen_begin(screen *s, const char *title)
{
    int width, height;
    find_size(&width, &height);
    const bool resized = s->width != 0 && (width != s->width || height != s->height);
    s->width = width;
    s->height = height;
    if (s->lines > 0 && resized) fputs("\033[H\033[2J", stdout);
    if (s->lines > 0 && !resized) printf("\033[%dA", s->lines); // to the top of the box before
    s->lines = 0;
    if (width - 1 < NARROWEST) return false;
    edge(s, s->glyphs->top_left, s->glyphs->top_right, title);
    return true;
}

void screen_row(screen *s, const char *label, const char *format, ...)
{
    // The lower edge needs a line, and so does the cursor behind it.
    if (s->lines + 2 >= s->height) return;
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const int room = screen_room(s);
    text[bytes_of_row(text, room)] = '\0';
    const int pad = room - cells_of(text);
    printf("%s %s%-*s%s%s%*s %s\033[K\n", s->glyphs->down, s->color ? "\033[2m" : "", LABEL, label,
           s->color ? "\033[0m" : "", text, pad > 0 ? pad : 0, "", s->glyphs->down);
    s->lines++;
}

void screen_end(screen *s)
{
    edge(s, s->glyphs->bottom_left, s->glyphs->bottom_right, "");
    fputs("\033[J", stdout); // the box before may have had more rows
    fflush(stdout);
}

void screen_message(screen *s, const char *line)
{
    if (s->lines > 0) printf("\033[%dA\033[J", s->lines);
    s->lines = 0;
    printf("%s%s%s\n", s->color ? "\033[33m" : "", line, s->color ? "\033[0m" : "");
    fflush(stdout);
}

// --- pictures
// --------------------------------------------------------------------------------------------------------

const char *screen_plus_minus(const screen *s)
{
    return s->glyphs->plus_minus;
}

const char *screen_bar(const screen *s, double share, int cells, char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0; i < cells; i++)
        append(out, size, i < share * cells ? s->glyphs->full : s->glyphs->empty);
    return out;
}

const char *screen_curve(const screen *s, const float *values, int count, int cells, char *out, size_t size)
{
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < count; i++) {
        low = fminf(low, values[i]);
        high = fmaxf(high, values[i]);
    }
    const int shown = count < cells ? count : cells;
    out[0] = '\0';
    for (int i = 0; i < shown; i++) {
        const float value = values[(long)i * count / shown];
        const float share = high > low && isfinite(high - low) ? (value - low) / (high - low) : 0;
        const int level = (int)(share * LEVELS);
        append(out, size, s->glyphs->level[level < LEVELS ? level : LEVELS - 1]);
    }
    return out;
}
