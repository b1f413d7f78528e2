/** The devices that ranks use, and the identity of the host that ranks share. */
package io.jccl.device;
