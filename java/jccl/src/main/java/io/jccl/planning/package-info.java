/**
 * Decides once per communicator how its operations are executed: turns what each host found into rings, trees and
 * choices of algorithms. Communicators and {@code jccl topo} use it.
 */
package io.jccl.planning;
