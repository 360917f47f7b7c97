// SPDX-License-Identifier: BSD-3-Clause
import { show } from "./cellframe";

show([]);
