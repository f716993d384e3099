#define DOCTEST_CONFIG_IMPLEMENT  // follows from the next line only where the header is not precompiled
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
