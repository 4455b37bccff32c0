// kinds_static: a program that no library can be loaded into.
#include <stdio.h>

int main(void) {
  puts("alone");
  return 3;
}
