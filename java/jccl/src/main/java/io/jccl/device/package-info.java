/** The devices that ranks run on, and the identity of the host that they share. */
package io.jccl.device;
