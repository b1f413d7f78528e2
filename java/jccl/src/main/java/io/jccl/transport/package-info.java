/** Which transport joins two ranks, and the exchange of what they need to connect. */
package io.jccl.transport;
