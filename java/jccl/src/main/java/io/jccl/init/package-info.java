/**
 * Initialises communicators: {@code CommunicatorInitializer} has one line for each step, from the rendezvous to the
 * first operation, and the other classes carry out the steps.
 */
package io.jccl.init;
