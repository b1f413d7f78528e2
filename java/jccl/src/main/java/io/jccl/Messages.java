package io.jccl;

import io.jccl.runtime.MessagePassing;
import java.util.Optional;

/**
 * Messages with tags between the ranks of a communicator, see {@link Communicator#messages()}. A rank sends to any rank,
 * also to itself, whenever it wants, and the other rank receives without knowing the length, the tag or the sender in
 * advance.
 *
 * <pre>{@code
 * Messages messages = comm.messages();
 * if (comm.rank() == 0) {
 *     messages.send(1, 7, DataBuffer.of(values));
 * } else if (comm.rank() == 1) {
 *     MessageStatus received = messages.receive(Messages.ANY, 7, DataBuffer.of(buffer));
 *     System.out.println(received.source() + " sent " + received.count(DataType.FLOAT32) + " numbers");
 * }
 * }</pre>
 *
 * <p><b>Matching.</b> A receive takes the message that arrived first among those that fit its source and tag. A message
 * goes to the receive that was started first among those that fit. So messages of one rank with one tag are received in
 * the order of their sends. Nothing else is ordered: messages have no place in the sequence of collectives, and a message
 * may be sent or received inside the body of a group, of which it is no part.
 *
 * <p><b>Sends.</b> When {@link #send} returns, the buffer may change. A message of a few KiB usually leaves at once, before
 * a receive is started: each rank keeps up to 512 KiB of such messages of every other rank. All other sends last until
 * a receive takes the message, and its data moves straight into the buffer of the receive. Do not rely on either: two ranks
 * that both send before they receive may wait for each other.
 *
 * <p><b>Buffers</b> are memory of the host of any kind, also Java arrays. Types need not agree, because a message consists
 * of bytes. The buffer of a receive may be longer than the message; the rest keeps its contents. If the buffer is an array
 * and the message is no whole number of its elements, the last bytes of the message are dropped.
 *
 * <p><b>Threads.</b> Any thread may call any method, several at once, also while operations of the communicator run.
 *
 * <p><b>Errors.</b> Each wait has the communicator's time-out. A wait that takes longer, a rank that ends and an abort fail
 * the communicator like an operation. A {@link Work} of a message has no time-out until somebody awaits it. {@link
 * Work#cancel()} takes back a receive that no message has matched: its waits end with a {@link
 * java.util.concurrent.CancellationException}, and the communicator stays usable. Other messages cannot be cancelled: the
 * call returns false. An interrupt ends a wait; a receive that has matched nothing and a {@code Work} are unaffected, so
 * the communicator stays usable. An interrupt of {@link #send} or {@link #receive} while the data moves fails the
 * communicator. {@link Communicator#close()} ends messages that are not over with an {@link IllegalStateException}.
 */
public sealed interface Messages permits MessagePassing {

    /** Stands for any source, or for any tag, in a receive or a probe. */
    int ANY = -1;

    /**
     * Sends a message. Returns when the buffer may change.
     *
     * @param peer the rank that gets the message; may be this rank
     * @param tag a number that the receive names, at least 0
     * @param source the message
     * @throws IllegalArgumentException if the peer is no rank, the tag is negative, or the buffer is memory of a device
     * @throws IllegalStateException if the communicator or the buffer is closed, or 65 536 sends to the peer are not over
     * @throws JcclException as {@link Work#await()}
     */
    void send(int peer, int tag, DataBuffer source);

    /**
     * Starts to send a message. The buffer must not change until the returned {@link Work} is done.
     *
     * @param peer the rank that gets the message; may be this rank
     * @param tag a number that the receive names, at least 0
     * @param source the message
     * @return the handle of the send
     * @throws IllegalArgumentException as {@link #send}
     * @throws IllegalStateException as {@link #send}
     * @throws JcclException if the communicator has failed
     */
    Work sendAsync(int peer, int tag, DataBuffer source);

    /**
     * Starts to send a message whose returned {@link Work} is not done before a receive has matched the message, however
     * small it is (MPI_Issend). A message that is too long for its receive has been matched, too.
     *
     * @param peer the rank that gets the message; may be this rank
     * @param tag a number that the receive names, at least 0
     * @param source the message; must not change until the returned {@link Work} is done
     * @return the handle of the send
     * @throws IllegalArgumentException as {@link #send}
     * @throws IllegalStateException as {@link #send}
     * @throws JcclException if the communicator has failed
     */
    Work sendMatchedAsync(int peer, int tag, DataBuffer source);

    /**
     * Receives a message. Returns when the message is in the buffer.
     *
     * @param source the rank from which to receive, or {@link #ANY}; may be this rank
     * @param tag the tag of the message, or {@link #ANY}
     * @param target where the message goes
     * @return the message
     * @throws IllegalArgumentException if the source is no rank, the tag is below {@link #ANY}, or the buffer is memory of
     *     a device or read-only
     * @throws IllegalStateException if the communicator or the buffer is closed
     * @throws MessageTooLongException if the message is longer than the buffer
     * @throws InterruptedCommunicationException if this thread is interrupted before a message has matched
     * @throws JcclException as {@link Work#await()}
     */
    MessageStatus receive(int source, int tag, DataBuffer target);

    /**
     * Starts to receive a message. The buffer must not be used until the returned handle is done.
     *
     * @param source the rank from which to receive, or {@link #ANY}; may be this rank
     * @param tag the tag of the message, or {@link #ANY}
     * @param target where the message goes
     * @return the handle of the receive
     * @throws IllegalArgumentException as {@link #receive}
     * @throws IllegalStateException as {@link #receive}
     * @throws JcclException if the communicator has failed
     */
    MessageReceive receiveAsync(int source, int tag, DataBuffer target);

    /**
     * Receives a message if one has arrived that fits. Does not wait for a message, but if it is long, for its data.
     *
     * @param source the rank from which to receive, or {@link #ANY}; may be this rank
     * @param tag the tag of the message, or {@link #ANY}
     * @param target where the message goes
     * @return the message; empty if none that fits has arrived
     * @throws IllegalArgumentException as {@link #receive}
     * @throws IllegalStateException as {@link #receive}
     * @throws MessageTooLongException if the message is longer than the buffer
     * @throws JcclException as {@link Work#await()}
     */
    Optional<MessageStatus> tryReceive(int source, int tag, DataBuffer target);

    /**
     * Waits until a message has arrived that fits, and leaves it for a later receive. Another thread may receive it first.
     *
     * @param source the rank that sends the message, or {@link #ANY}; may be this rank
     * @param tag the tag of the message, or {@link #ANY}
     * @return the message
     * @throws IllegalArgumentException if the source is no rank, or the tag is below {@link #ANY}
     * @throws IllegalStateException if the communicator is closed
     * @throws InterruptedCommunicationException if this thread is interrupted
     * @throws JcclException as {@link Work#await()}
     */
    MessageStatus probe(int source, int tag);

    /**
     * Returns the message that a receive would take now, without waiting.
     *
     * @param source the rank that sends the message, or {@link #ANY}; may be this rank
     * @param tag the tag of the message, or {@link #ANY}
     * @return the message; empty if none that fits has arrived
     * @throws IllegalArgumentException as {@link #probe}
     * @throws IllegalStateException if the communicator is closed
     * @throws JcclException if the communicator has failed
     */
    Optional<MessageStatus> tryProbe(int source, int tag);
}
