package io.jccl;

import io.jccl.runtime.GroupBuilder;

/**
 * Collects operations that are issued together; see {@link Communicator#group}. Valid only within the body that
 * receives it, on the thread of that body.
 *
 * <p>All sends and receives of a group run at the same time, in any order, and must together match those of the peers.
 * Several transfers between the same two ranks match in the order of their calls. The collectives run after the sends
 * and receives, one after the other in the order of their calls. On a device, consecutive operations share a launch if
 * the same kernel executes them and none reads or writes memory that another writes.
 */
public sealed interface Group extends ArrayOperations<Group> permits GroupBuilder {}
