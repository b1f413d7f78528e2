package io.jccl;

import io.jccl.runtime.WindowAllocation;
import java.nio.ByteBuffer;

/**
 * Symmetric memory of the host that ranks read and write at each other by one-sided operations: the target calls
 * nothing. See {@link Communicator#allocateWindow}.
 *
 * <p>The calls return when they are done on this rank, and have no {@link Work}. Any thread may make them at any time,
 * several at once, also while operations of the communicator run. Each call has the communicator's time-out.
 *
 * <p><b>Order and visibility.</b> Here "earlier" means earlier in the same thread, or in a thread that handed over to
 * this one as the Java memory model demands.
 *
 * <ul>
 *   <li><b>Local completion.</b> When {@link #put} returns, its buffer may change. When {@link #get} returns, the data
 *       is in its buffer.
 *   <li><b>Signals.</b> A signal follows the data: when {@link #waitSignal} has taken a signal, everything that the
 *       peer's signalling thread has put to this rank earlier is visible here.
 *   <li><b>One pair.</b> Puts of one rank to the same bytes of one peer take effect in their order. A get returns what
 *       earlier puts of this rank to that peer have stored, or later data.
 *   <li><b>Several peers.</b> Between puts to different peers there is no order. When {@link #flush(int)} returns,
 *       earlier puts to that peer are in its memory, where every rank sees them.
 *   <li><b>Races.</b> If several ranks access the same bytes at once, and one of them writes, a reader gets for each
 *       byte one of the values. A put or get of exactly 1, 2, 4 or 8 bytes at a multiple of its size, from or into
 *       memory that is aligned too, never mixes two values.
 *   <li><b>Additions.</b> {@link #fetchAdd} of several ranks to the same number take effect one after the other. Only
 *       additions, and puts and gets of exactly these 8 bytes, may access the number at the same time.
 *   <li><b>Own memory.</b> This rank may read its own memory directly after it has taken the signal that follows the
 *       data. A thread that reads without a signal may read old data.
 *   <li><b>Collectives</b> may use the memory of a window ({@link #slice}), like other symmetric memory. The application
 *       separates them from one-sided operations on the same bytes: by flushes and a barrier, or by signals.
 * </ul>
 *
 * <p>A call that fails, for example because the peer has ended, fails the communicator like an operation. Wrong
 * arguments are refused before anything moves.
 */
public sealed interface Window extends SymmetricMemory permits WindowAllocation {

    /** Number of the signals of each pair of ranks: the ids are 0 to {@code SIGNALS - 1}. */
    int SIGNALS = 64;

    /**
     * Returns a view of this rank's memory, in native byte order. After {@link #close} the view shows other memory of
     * this process, which no rank uses.
     *
     * @param offsetBytes the first byte of the view
     * @param lengthBytes the number of bytes
     * @throws IllegalArgumentException if the bytes are not within the window
     * @throws IllegalStateException if the window or its communicator is closed
     */
    ByteBuffer asByteBuffer(long offsetBytes, int lengthBytes);

    /**
     * Stores a buffer into the memory of a peer. Returns when the buffer may change; the data may still be on its way.
     *
     * @param peer the rank whose memory is written; may be this rank
     * @param offsetBytes where the data begins in the peer's memory
     * @param source memory of the host of any kind, also a Java array
     * @throws IllegalArgumentException if the peer is no rank, the data would not lie within the window, or the buffer
     *     is memory of a device
     * @throws IllegalStateException if the window, its communicator or the buffer is closed
     * @throws JcclException as {@link Work#await()}
     */
    void put(int peer, long offsetBytes, DataBuffer source);

    /**
     * Stores a buffer into the memory of a peer, and then raises a signal there.
     *
     * @param peer the rank whose memory is written; may be this rank
     * @param offsetBytes where the data begins in the peer's memory
     * @param source memory of the host of any kind, also a Java array
     * @param signal the id of the signal, 0 to {@link #SIGNALS} - 1
     * @throws IllegalArgumentException as {@link #put}, or if there is no such signal
     * @throws IllegalStateException as {@link #put}
     * @throws JcclException as {@link Work#await()}
     */
    void putSignal(int peer, long offsetBytes, DataBuffer source, int signal);

    /**
     * Reads from the memory of a peer. Returns when the data is in the buffer.
     *
     * @param peer the rank whose memory is read; may be this rank
     * @param offsetBytes where the data begins in the peer's memory
     * @param target memory of the host of any kind, also a Java array
     * @throws IllegalArgumentException if the peer is no rank, the data does not lie within the window, or the buffer
     *     is memory of a device or read-only
     * @throws IllegalStateException if the window, its communicator or the buffer is closed
     * @throws JcclException as {@link Work#await()}
     */
    void get(int peer, long offsetBytes, DataBuffer target);

    /**
     * Adds to a number in the memory of a peer, and returns the previous number. The number has 64 bits in native byte
     * order and wraps around. All ranks can add to the same number at once, and no addition is lost. The addition
     * follows earlier puts of this rank to the peer.
     *
     * @param peer the rank whose memory is changed; may be this rank
     * @param offsetBytes where the number is in the peer's memory, a multiple of 8
     * @param addend may be negative; 0 reads the number
     * @return the number before the addition
     * @throws IllegalArgumentException if the peer is no rank, the number does not lie within the window, or the offset
     *     is no multiple of 8
     * @throws IllegalStateException if the window or its communicator is closed
     * @throws JcclException as {@link Work#await()}
     */
    long fetchAdd(int peer, long offsetBytes, long addend);

    /**
     * Raises a signal at a peer. Signals are counted: none is lost if the peer waits later.
     *
     * @param peer the rank that gets the signal; may be this rank
     * @param signal the id of the signal, 0 to {@link #SIGNALS} - 1
     * @throws IllegalArgumentException if the peer is no rank or there is no such signal
     * @throws IllegalStateException if the window or its communicator is closed
     * @throws JcclException as {@link Work#await()}
     */
    void signal(int peer, int signal);

    /**
     * Waits until a peer has raised signals at this rank, and takes them. Signals that were raised earlier count. If
     * the thread is interrupted, no signal is taken and the communicator stays usable.
     *
     * @param peer the rank that raises the signals; may be this rank
     * @param signal the id of the signals, 0 to {@link #SIGNALS} - 1
     * @param count the number of signals, at least 1
     * @throws IllegalArgumentException if the peer is no rank, there is no such signal, or the count is not positive
     * @throws IllegalStateException if the window or its communicator is closed, also during the call
     * @throws CommunicationTimeoutException if the peer does not raise the signals in time
     * @throws InterruptedCommunicationException if this thread is interrupted
     * @throws JcclException as {@link Work#await()}
     */
    void waitSignal(int peer, int signal, long count);

    /**
     * Waits until everything that this rank has put to a peer is in the peer's memory.
     *
     * @param peer a rank; may be this rank
     * @throws IllegalArgumentException if the peer is no rank
     * @throws IllegalStateException if the window or its communicator is closed
     * @throws JcclException as {@link Work#await()}
     */
    void flush(int peer);

    /** Waits until everything that this rank has put is in the memory of its peers; see {@link #flush(int)}. */
    void flush();

    /**
     * Frees the memory. All ranks call this method, in the same order as their other calls, and it returns when all
     * have called it. Until a rank calls it, the rank may use the window; this call flushes. Threads of this rank that
     * still wait for a signal then get an {@link IllegalStateException}. A second call does nothing.
     *
     * @throws JcclException as {@link Work#await()}
     */
    @Override
    void close();
}
