/**
 * Decides once per communicator how its operations are executed: joins the channels found on each host into rings and trees over
 * all hosts, and chooses algorithms. Communicators and {@code jccl topo} use it.
 *
 * <p>A plan is a pure function of its input: every rank builds it from the same gathered list and gets the same result.
 */
package io.jccl.planning;
