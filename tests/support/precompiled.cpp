// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The precompiled header needs a translation unit of its own: doctest's main cannot use it.
