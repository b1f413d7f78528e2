package io.jccl;

import io.jccl.runtime.MessageWork;
import java.time.Duration;

/**
 * The handle of a message that is being received or sent, see {@link Messages#receiveAsync}. {@link Messages} describes
 * how time-outs, interrupts and {@link #cancel()} differ from those of other operations.
 */
public sealed interface MessageReceive extends Work permits MessageWork {

    /**
     * Waits until the message is in the buffer, like {@link #await()}.
     *
     * @return the message
     * @throws MessageTooLongException if the message is longer than the buffer
     * @throws java.util.concurrent.CancellationException if the receive was cancelled
     * @throws JcclException as {@link Work#await()}
     */
    MessageStatus receive();

    /**
     * Like {@link #receive()}, with the given time-out instead of the communicator's.
     *
     * @param timeout how long to wait from now, at least a millisecond
     * @return the message
     * @throws JcclException as {@link #receive()}
     */
    MessageStatus receive(Duration timeout);
}
