// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// MP4 by FFmpeg's libraries: RGB rows are scaled to YUV 4:2:0 (sides rounded up to even ones), encoded as
// H.264, or MPEG-4 where no H.264 encoder is built in, and muxed. Frame k has time k in units of 1 / fps, a
// fraction, so 29.97 frames per second stay what they are.

#include "film_format.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>

#include <stdlib.h>

typedef struct mp4_writer {
    AVFormatContext *container;
    AVCodecContext *codec;
    AVStream *stream;
    AVFrame *frame;
    AVPacket *packet;
    struct SwsContext *scaler;
    uint32_t width, height; // of the frames that come in
    int64_t frames;
    bool head_written;
} mp4_writer;

static corral_status mp4_fail(int error, const char *what)
{
    char said[AV_ERROR_MAX_STRING_SIZE] = {0};
    av_strerror(error, said, sizeof said);
    return corral_fail(CORRAL_ERROR_IO, "the MP4's %s failed: %s", what, said);
}

static void mp4_free(mp4_writer *w)
{
    if (w->container != NULL && w->container->pb != NULL) avio_closep(&w->container->pb);
    avformat_free_context(w->container);
    avcodec_free_context(&w->codec);
    av_frame_free(&w->frame);
    av_packet_free(&w->packet);
    sws_freeContext(w->scaler);
    free(w);
}

static const AVCodec *choose_encoder(void)
{
    const AVCodec *encoder = avcodec_find_encoder_by_name("libx264");
    if (encoder == NULL) encoder = avcodec_find_encoder_by_name("libopenh264");
    return encoder != NULL ? encoder : avcodec_find_encoder(AV_CODEC_ID_MPEG4);
}

static corral_status open_codec(mp4_writer *w, double fps)
{
    const AVCodec *encoder = choose_encoder();
    if (encoder == NULL)
        return corral_fail(CORRAL_ERROR_UNSUPPORTED, "libavcodec has no video encoder for MP4; use .gif");
    w->codec = avcodec_alloc_context3(encoder);
    if (w->codec == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for an encoder");
    w->codec->width = (int)(w->width + w->width % 2);
    w->codec->height = (int)(w->height + w->height % 2);
    w->codec->framerate = av_d2q(fps, 100000);
    w->codec->time_base = av_inv_q(w->codec->framerate);
    w->codec->pix_fmt = AV_PIX_FMT_YUV420P;
    w->codec->gop_size = 120;
    w->codec->color_range = AVCOL_RANGE_MPEG;
    w->codec->colorspace = AVCOL_SPC_SMPTE170M;
    w->codec->thread_count = 2;
    if (encoder->id == AV_CODEC_ID_MPEG4) {
        w->codec->flags |= AV_CODEC_FLAG_QSCALE;
        w->codec->global_quality = FF_QP2LAMBDA * 3;
    }
    if (w->container->oformat->flags & AVFMT_GLOBALHEADER) w->codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    av_opt_set(w->codec->priv_data, "preset", "veryfast", 0);
    av_opt_set(w->codec->priv_data, "crf", "18", 0);
    const int result = avcodec_open2(w->codec, encoder, NULL);
    return result < 0 ? mp4_fail(result, "encoder") : CORRAL_OK;
}

static corral_status open_file(mp4_writer *w, const char *path)
{
    w->stream = avformat_new_stream(w->container, NULL);
    if (w->stream == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for an MP4");
    w->stream->time_base = w->codec->time_base;
    w->stream->avg_frame_rate = w->codec->framerate;
    int result = avcodec_parameters_from_context(w->stream->codecpar, w->codec);
    if (result >= 0) result = avio_open(&w->container->pb, path, AVIO_FLAG_WRITE);
    if (result < 0) return mp4_fail(result, "file");
    AVDictionary *options = NULL;
    av_dict_set(&options, "movflags", "+faststart", 0); // plays while it loads
    result = avformat_write_header(w->container, &options);
    av_dict_free(&options);
    w->head_written = result >= 0;
    return result < 0 ? mp4_fail(result, "head") : CORRAL_OK;
}

static corral_status open_scaler(mp4_writer *w)
{
    w->frame = av_frame_alloc();
    w->packet = av_packet_alloc();
    w->scaler =
        sws_getContext((int)w->width, (int)w->height, AV_PIX_FMT_RGB24, w->codec->width, w->codec->height,
                       AV_PIX_FMT_YUV420P, SWS_BICUBIC | SWS_ACCURATE_RND, NULL, NULL, NULL);
    if (w->frame == NULL || w->packet == NULL || w->scaler == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a video frame");
    w->frame->format = w->codec->pix_fmt;
    w->frame->width = w->codec->width;
    w->frame->height = w->codec->height;
    const int result = av_frame_get_buffer(w->frame, 0);
    return result < 0 ? mp4_fail(result, "frame") : CORRAL_OK;
}

static corral_status mp4_open(const char *path, uint32_t width, uint32_t height, double fps,
                              void **out_writer)
{
    mp4_writer *w = calloc(1, sizeof *w);
    if (w == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for an MP4");
    w->width = width;
    w->height = height;
    av_log_set_level(AV_LOG_FATAL); // what goes wrong we say ourselves
    const int result = avformat_alloc_output_context2(&w->container, NULL, "mp4", path);
    corral_status status = result < 0 ? mp4_fail(result, "container") : CORRAL_OK;
    if (status == CORRAL_OK) status = open_codec(w, fps);
    if (status == CORRAL_OK) status = open_file(w, path);
    if (status == CORRAL_OK) status = open_scaler(w);
    if (status != CORRAL_OK) {
        mp4_free(w);
        return status;
    }
    *out_writer = w;
    return CORRAL_OK;
}

/// Hands a frame to the encoder (NULL: the end) and writes what comes out.
static corral_status encode(mp4_writer *w, AVFrame *frame)
{
    int result = avcodec_send_frame(w->codec, frame);
    while (result >= 0) {
        result = avcodec_receive_packet(w->codec, w->packet);
        if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) return CORRAL_OK;
        if (result < 0) break;
        w->packet->stream_index = w->stream->index;
        w->packet->duration = 1;
        av_packet_rescale_ts(w->packet, w->codec->time_base, w->stream->time_base);
        result = av_interleaved_write_frame(w->container, w->packet);
    }
    return mp4_fail(result, "frame");
}

static corral_status mp4_add(void *writer, const canvas *picture)
{
    mp4_writer *w = writer;
    const int result = av_frame_make_writable(w->frame);
    if (result < 0) return mp4_fail(result, "frame");
    const uint8_t *const rows[1] = {picture->rgb};
    const int stride[1] = {(int)picture->width * 3};
    sws_scale(w->scaler, rows, stride, 0, (int)picture->height, w->frame->data, w->frame->linesize);
    w->frame->pts = w->frames++;
    return encode(w, w->frame);
}

static corral_status mp4_close(void *writer, bool keep)
{
    mp4_writer *w = writer;
    corral_status status = CORRAL_OK;
    if (keep && w->frames == 0) status = corral_fail(CORRAL_ERROR_EMPTY, "a recording without frames");
    if (keep && status == CORRAL_OK) status = encode(w, NULL);
    if (w->head_written) {
        const int result = av_write_trailer(w->container);
        if (result < 0 && status == CORRAL_OK && keep) status = mp4_fail(result, "end");
    }
    if (w->container->pb != NULL) {
        const int result = avio_closep(&w->container->pb);
        if (result < 0 && status == CORRAL_OK && keep) status = mp4_fail(result, "end");
    }
    mp4_free(w);
    return status;
}

const film_format film_mp4 = {".mp4", 1000, mp4_open, mp4_add, mp4_close};
