// The program that runs the tests of the core: `build/weft_tests --help` says what it can do.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
