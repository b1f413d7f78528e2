/**
 * What a communicator does, decided once: from what each host found to rings, trees and choices, for communicators and for
 * {@code jccl topo}.
 */
package io.jccl.planning;
