/* utf8 — one code point after another. */
#ifndef WAFERD_BASE_UTF8_H
#define WAFERD_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, what is shown in place of a bad byte */

/* Length of the code point at `text`, 1 to 4; 0 if these bytes are not UTF-8 (over-long forms,
 * surrogates and what lies above U+10FFFF are not) or length is 0. */
size_t utf8_next(const char *text, size_t length, uint32_t *ret_point);

/* Offset of the first byte that is not UTF-8, or `length`. */
size_t utf8_valid_length(const char *text, size_t length);

/* A copy in which each bad byte is U+FFFD. The caller frees. */
char *utf8_repair(const char *text, size_t length);

/* A copy for people's terminals: each bad byte is U+FFFD, each control character \n, \r, \t or
 * \x1b. The caller frees. */
char *utf8_escape(const char *text, size_t length);

#endif
