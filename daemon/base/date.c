#include "base/date.h"

/* Days from 1970-01-01 in the Gregorian calendar and back, by eras of 400 years that begin in March
 * (H. Hinnant, "chrono-compatible low-level date algorithms"). */
int64_t date_to_days(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * 146097 + day_of_era - 719468;
}

void date_of_days(int64_t days, int64_t *ret_year, int64_t *ret_month, int64_t *ret_day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;

    *ret_day = day_of_year - (153 * month + 2) / 5 + 1;
    *ret_month = month < 10 ? month + 3 : month - 9;
    *ret_year = year_of_era + era * 400 + (*ret_month <= 2);
}

int64_t date_month_days(int64_t year, int64_t month)
{
    static const int8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

bool date_is_valid(int64_t year, int64_t month, int64_t day)
{
    return year >= 1 && month >= 1 && month <= 12 && day >= 1 &&
           day <= date_month_days(year, month);
}

int date_weekday(int64_t days)
{
    int64_t weekday = (days + 3) % 7; /* 1970-01-01 was a Thursday */

    return (int)(weekday < 0 ? weekday + 7 : weekday);
}
