/* date — days of the Gregorian calendar, counted from 1970-01-01. */
#ifndef WAFERD_BASE_DATE_H
#define WAFERD_BASE_DATE_H

#include <stdbool.h>
#include <stdint.h>

#define DAY_S 86400

int64_t date_to_days(int64_t year, int64_t month, int64_t day);
void date_of_days(int64_t days, int64_t *ret_year, int64_t *ret_month, int64_t *ret_day);
int64_t date_month_days(int64_t year, int64_t month);
bool date_is_valid(int64_t year, int64_t month, int64_t day); /* from the year 1 on */
int date_weekday(int64_t days);                               /* 0: Monday */

#endif
