// What Python calls is visible outside of the library; everything else is not.
#ifndef WAVESCOPE_INTERFACE_EXPORT_H
#define WAVESCOPE_INTERFACE_EXPORT_H

#define WAVESCOPE_EXPORT __attribute__((visibility("default")))

#endif
