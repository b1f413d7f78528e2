/**
 * Finds the ranks that hold a communicator up, from the answers that processes give about themselves. {@code jccl ps}
 * shows the findings.
 */
package io.jccl.diagnosis;
