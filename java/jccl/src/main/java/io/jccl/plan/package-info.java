/**
 * Joins the channel orders found on each host into rings and trees over all hosts of a communicator.
 *
 * <p>A plan is a pure function of its input: every rank builds it from the same gathered list and gets the same result.
 */
package io.jccl.plan;
