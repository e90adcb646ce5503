// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "mailbox.h"

#include "link.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct corral_mailbox {
    pthread_mutex_t mutex;
    corral_mail *first, *last;
    int event;
};

corral_status corral_mailbox_create(corral_mailbox **out_mailbox)
{
    corral_mailbox *mailbox = calloc(1, sizeof *mailbox);
    if (mailbox == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a mailbox");
    mailbox->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (mailbox->event < 0) {
        const int error = errno;
        free(mailbox);
        return corral_fail_errno(CORRAL_ERROR_IO, error, "cannot make an eventfd");
    }
    pthread_mutex_init(&mailbox->mutex, NULL);
    *out_mailbox = mailbox;
    return CORRAL_OK;
}

void corral_mailbox_destroy(corral_mailbox *mailbox)
{
    if (mailbox == NULL) return;
    corral_mail *mail;
    while ((mail = corral_mailbox_take(mailbox)) != NULL)
        corral_mail_free(mail);
    pthread_mutex_destroy(&mailbox->mutex);
    close(mailbox->event);
    free(mailbox);
}

int corral_mailbox_fd(const corral_mailbox *mailbox)
{
    return mailbox->event;
}

void corral_mailbox_post(corral_mailbox *mailbox, corral_mail *mail)
{
    mail->next = NULL;
    if (mail->link != NULL) corral_link_retain(mail->link);
    pthread_mutex_lock(&mailbox->mutex);
    const bool was_empty = mailbox->first == NULL;
    if (was_empty)
        mailbox->first = mail;
    else
        mailbox->last->next = mail;
    mailbox->last = mail;
    // Within the lock, so that the reader's clearing and this raising come in the order of the queue.
    const uint64_t one = 1;
    if (was_empty && write(mailbox->event, &one, sizeof one) < 0) {
    } // it is raised already
    pthread_mutex_unlock(&mailbox->mutex);
}

static corral_mail *pop(corral_mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->mutex);
    corral_mail *mail = mailbox->first;
    if (mail != NULL) mailbox->first = mail->next;
    uint64_t count;
    if (mailbox->first == NULL && read(mailbox->event, &count, sizeof count) < 0) {
    } // it was not raised
    pthread_mutex_unlock(&mailbox->mutex);
    return mail;
}

corral_mail *corral_mailbox_take(corral_mailbox *mailbox)
{
    for (;;) {
        corral_mail *mail = pop(mailbox);
        if (mail == NULL || mail->link == NULL || !corral_link_is_closed(mail->link)) return mail;
        corral_mail_free(mail);
    }
}

void corral_mailbox_drop_questions(corral_mailbox *mailbox)
{
    corral_mail *dropped = NULL;
    pthread_mutex_lock(&mailbox->mutex);
    mailbox->last = NULL;
    for (corral_mail **place = &mailbox->first; *place != NULL;) {
        corral_mail *mail = *place;
        if (mail->kind != CORRAL_MAIL_QUESTION) {
            mailbox->last = mail;
            place = &mail->next;
            continue;
        }
        *place = mail->next;
        mail->next = dropped;
        dropped = mail;
    }
    pthread_mutex_unlock(&mailbox->mutex);
    while (dropped != NULL) {
        corral_mail *mail = dropped;
        dropped = mail->next;
        corral_mail_free(mail);
    }
}

void corral_mail_free(corral_mail *mail)
{
    if (mail->question != NULL) corral_rpc_answer(mail->question, NULL, 0);
    if (mail->chunk != NULL) corral_rpc_message_free(mail->chunk);
    corral_wire_free(mail->envelope);
    if (mail->link != NULL) corral_link_release(mail->link);
    free(mail);
}
