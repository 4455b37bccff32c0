// Sorts integer values within groups: what exact percentiles per kernel need.
#ifndef WAVESCOPE_GROUP_SORT_H
#define WAVESCOPE_GROUP_SORT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Stores the values of group 0 in ascending order, then those of group 1, and so on. `counts` receives how many values
// each of the `group_count` groups has. Returns 0, or 1 when a group number is out of range or memory is short; the
// contents of `sorted` and `counts` are then undefined.
__attribute__((visibility("default"))) int wavescope_sort_within_groups(const uint16_t* groups, const int64_t* values,
                                                                        int64_t count, int32_t group_count,
                                                                        int64_t* sorted, int64_t* counts);

#ifdef __cplusplus
}
#endif

#endif
