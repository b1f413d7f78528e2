package io.jccl;

import io.jccl.runtime.GroupBuilder;

/**
 * Collects operations that are issued together; see {@link Communicator#group}. Only valid within the body that it was
 * passed to, on that body's thread.
 *
 * <p>Sends and receives run at the same time, whatever their order, and must together match those of the peers; several
 * between the same two ranks match in their order. Collectives run one after the other, in their order, after them. On a
 * device, neighbours that one kernel executes, and that touch no memory which another of them writes, share a launch.
 */
public sealed interface Group extends ArrayOperations<Group> permits GroupBuilder {}
