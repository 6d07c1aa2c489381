#include "list_filter.h"

#include <string.h>

bool list_shows(const Wafer__ListRequest *request, const Wafer__Job *view)
{
    bool state_fits = request->n_states == 0;

    for (size_t i = 0; i < request->n_states; i++)
        state_fits |= view->has_state && request->states[i] == view->state;
    return state_fits &&
           (!request->queue || (view->queue && strcmp(request->queue, view->queue) == 0));
}
