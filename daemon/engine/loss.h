/* loss — what a model of N parameters has learnt after D tokens.
 *
 * The scaling law of Hoffmann et al. 2022 (arXiv 2203.15556): L = E + A/N^alpha + B/D^beta. It
 * begins at the loss of a guess (the logarithm of the vocabulary), not at infinity. The noise of a
 * training batch depends on the settings and the step alone: whoever runs a step, and however
 * often, sees the same loss.
 *
 * Results are millionths. */
#ifndef WAFERD_ENGINE_LOSS_H
#define WAFERD_ENGINE_LOSS_H

#include <stdint.h>

struct loss {
    double floor;        /* with endless data */
    double first_tokens; /* so many make the curve begin at the guess */
    double tokens_a_step;
    uint64_t settings;
};

void loss_init(struct loss *loss, uint64_t parameters, uint32_t vocab, uint64_t tokens_a_step,
               uint64_t settings);
int64_t loss_micro(const struct loss *loss, uint64_t step);      /* of the batch of `step` */
int64_t loss_eval_micro(const struct loss *loss, uint64_t step); /* of held-out data */
int64_t loss_gradient_micro(const struct loss *loss, uint64_t step, uint32_t rank); /* its norm */

#endif
