/**
 * Rings and trees over all hosts of a communicator, from the channel orders found on each host.
 *
 * <p>A plan is a pure function of its input: every rank builds it from the same gathered list and gets the same answer.
 */
package io.jccl.plan;
