/** The devices that ranks run on, and the identity of the machine that they share. */
package io.jccl.device;
