/* SPDX-License-Identifier: GPL-2.0-only */
/* The cards of cards.c, by which the driver knows them. */
#ifndef ONLOAD_STUB_CARDS_H
#define ONLOAD_STUB_CARDS_H

#define STUB_CARD_VENDOR 0x1924u
#define STUB_CARD_DEVICE 0x5afeu

#endif
