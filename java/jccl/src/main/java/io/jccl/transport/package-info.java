/** Chooses the transport between two ranks, and exchanges what they need to connect. */
package io.jccl.transport;
