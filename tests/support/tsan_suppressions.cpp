// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// For programs that tests run and that do not have doctest's main.
#include "tsan_suppressions.hpp"
