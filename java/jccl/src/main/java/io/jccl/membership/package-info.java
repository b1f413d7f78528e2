/**
 * The membership of a group: how ranks join it, split it, and reform it from the ranks that remain and from processes that join.
 * {@code Bootstrap} executes these steps for one rank. Afterwards it provides the {@code OutOfBand} network and the
 * {@code ControlNetwork}, both over the one connection to the coordinator.
 */
package io.jccl.membership;
