/** The life of a communicator, from rendezvous to readiness, as one class that reads from top to bottom. */
package io.jccl.init;
