// SPDX-License-Identifier: BSD-3-Clause
/** Set by build.mjs. false: the script is that of a frame below a notebook's cell, whose size counts for each cell. It has no filters but
 * that of own code, and no ranges of time. */
declare const PAGE: boolean;
declare module "*.css";
