package io.jccl;

import io.jccl.internal.Arguments;
import io.jccl.runtime.CommunicatorImpl;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A set of ranks that communicate. Every rank holds one object of this class; a process may hold several, of the same or of
 * different communicators.
 *
 * <p>Operations are issued by one thread at a time; two threads at the same time get an {@link IllegalStateException},
 * because the ranks could not agree on an order. Which thread does not matter, and {@link Work}, {@link #abort()} and the
 * getters may be used by any thread at any time.
 *
 * <p>All ranks call the same collectives in the same order, with the same type, reduction, count and root. No rank takes
 * data from another whose calls up to there were different: it throws {@link MismatchedCollectiveException}. An all-reduce,
 * all-gather, reduce-scatter, all-to-all or barrier on memory of the host that returns proves that all ranks called the
 * same up to there: end a series of asynchronous operations with one, and wait for it. Another operation may return, and
 * its future complete, before a difference is found: on a rank that only sends, or that receives only from ranks that
 * called the same. Then a later operation finds it; or {@link #close()}; or, if ranks call nothing more, their heartbeats
 * ({@code JCCL_HEARTBEAT_INTERVAL}), after which the next call throws. Sends and receives are compared between their two
 * ends only.
 *
 * <p>Several communicators over the same ranks are independent, and may run at the same time. Where the kernels of all do not fit
 * on a GPU together, which a warning says, all ranks issue the operations of these communicators in the same order.
 */
public sealed interface Communicator extends ArrayOperations<Work>, AutoCloseable permits CommunicatorImpl {

    /**
     * Initialises a communicator. All ranks call this with the same id and size; the call returns when all have.
     *
     * @param id from {@link UniqueId#create()} on one rank
     * @param rank this rank, 0 to {@code size - 1}
     * @param size the number of ranks
     * @throws BootstrapException if the ranks cannot initialise a communicator
     * @throws CommunicationTimeoutException if ranks stay away; names them
     * @throws PeerFailedException if a rank ends, or is interrupted, while others wait for it; names it
     * @throws InterruptedCommunicationException if this thread is interrupted; the other ranks learn of it
     */
    static Communicator init(UniqueId id, int rank, int size) {
        return init(id, rank, size, CommunicatorConfig.defaults());
    }

    /**
     * Initialises a communicator with settings. Settings that shape the plan must be the same on all ranks.
     *
     * @param id from {@link UniqueId#create()} on one rank
     * @param rank this rank, 0 to {@code size - 1}
     * @param size the number of ranks
     * @param config the settings
     * @throws BootstrapException if the ranks cannot initialise a communicator
     * @throws CommunicationTimeoutException if ranks stay away; names them
     * @throws PeerFailedException if a rank ends, or is interrupted, while others wait for it; names it
     * @throws InterruptedCommunicationException if this thread is interrupted; the other ranks learn of it
     */
    static Communicator init(UniqueId id, int rank, int size, CommunicatorConfig config) {
        return Providers.provider().init(id, rank, size, config);
    }

    /**
     * Initialises the communicator of the job that a launcher started this process in: {@code jccl run}, torchrun, Open
     * MPI, PMI or Slurm. A process that none of them started, as by an IDE, is the only rank of its job; a warning says so.
     *
     * @throws BootstrapException if the environment is incomplete or the ranks cannot initialise a communicator
     * @throws CommunicationTimeoutException if ranks stay away; names them
     */
    static Communicator fromEnvironment() {
        return fromEnvironment(CommunicatorConfig.defaults());
    }

    /**
     * Like {@link #fromEnvironment()}, with settings.
     *
     * @param config the settings
     * @throws BootstrapException if the environment is incomplete or the ranks cannot initialise a communicator
     * @throws CommunicationTimeoutException if ranks stay away; names them
     */
    static Communicator fromEnvironment(CommunicatorConfig config) {
        return Providers.provider().fromEnvironment(Arguments.required("config", config, CommunicatorConfig.EXPECTED));
    }

    /**
     * Like {@link #init(UniqueId, int, int, CommunicatorConfig)}, on a thread of its own; returns at once. Whoever completes the
     * future before, by {@link CompletableFuture#cancel}, {@link CompletableFuture#orTimeout} or otherwise, ends the
     * initialisation on all ranks: the others get a {@link PeerFailedException} that names this rank, or, where it was over
     * already, a communicator that fails with an {@link AbortedException}. Nothing is left of it here then.
     *
     * @param id from {@link UniqueId#create()} on one rank
     * @param rank this rank, 0 to {@code size - 1}
     * @param size the number of ranks
     * @param config the settings
     * @return the communicator; exceptionally with what {@code init} throws. Continuations that are not {@code Async} run on
     *     the thread that initialised it
     * @throws IllegalArgumentException at once, if an argument is wrong
     */
    static CompletableFuture<Communicator> initAsync(UniqueId id, int rank, int size, CommunicatorConfig config) {
        return Providers.provider().initAsync(id, rank, size, config);
    }

    /** Like {@link #initAsync(UniqueId, int, int, CommunicatorConfig)}, without settings. */
    static CompletableFuture<Communicator> initAsync(UniqueId id, int rank, int size) {
        return initAsync(id, rank, size, CommunicatorConfig.defaults());
    }

    /**
     * Joins a communicator that runs, in a new process or a new thread: waits until its ranks call {@link #reform(Collection,
     * int)}, for {@code JCCL_INIT_TIMEOUT} at most, and becomes one of its last ranks.
     *
     * @param id by which the ranks of the job have met, for its secret
     * @param members what {@link #memberAddresses()} returned on a rank, or parts of it; one that lives is enough
     * @throws IllegalArgumentException if an address cannot be read
     * @throws BootstrapException if this process is refused: it has another secret or another version
     * @throws CommunicationTimeoutException if no rank took it in in time; shows what each address answered
     * @throws InterruptedCommunicationException if this thread is interrupted
     */
    static Communicator join(UniqueId id, Collection<String> members) {
        return join(id, members, CommunicatorConfig.defaults());
    }

    /**
     * Like {@link #join(UniqueId, Collection)}, with settings.
     *
     * @param id by which the ranks of the job have met
     * @param members what {@link #memberAddresses()} returned on a rank
     * @param config the settings
     */
    static Communicator join(UniqueId id, Collection<String> members, CommunicatorConfig config) {
        return Providers.provider().join(id, members, config);
    }

    /** This rank, 0 to {@code size() - 1}. */
    int rank();

    /** The number of ranks. */
    int size();

    /**
     * The name that {@link CommunicatorConfig.Builder#name} or {@link #split(int, int, String)} gave this communicator. A
     * communicator without a name is {@code world} if it was initialised, and {@code split} if it was split off.
     */
    String name();

    /**
     * Identifies the communicator in logs, the same on all ranks; without secrets. Starts with the given name, if there is
     * one, continues with digits that no other communicator has, and ends with the generation after a reform.
     */
    String id();

    /**
     * How often the ranks have reformed this communicator: 0 for one that was initialised, and one more than the communicator
     * before for what {@link #reform(Collection, int)} and {@link #shrink(Collection)} return. The same on all ranks.
     */
    int generation();

    /**
     * Where processes that {@linkplain #join(UniqueId, Collection) join} find the ranks, a text for each rank, in rank order:
     * its addresses as {@code host:port,host:port}, the best first. They serve until this communicator is closed.
     */
    List<String> memberAddresses();

    /**
     * Issues several operations as one. Nothing is issued if the body throws.
     *
     * @param body adds operations to the group
     * @return done when all of them are
     */
    Work group(Consumer<Group> body);

    /**
     * All-reduces one number, and waits for the result.
     *
     * @return the same on all ranks
     * @throws JcclException as {@link Work#await()}
     */
    default double allReduce(double value, ReduceOp op) {
        double[] one = {value};
        allReduce(DataBuffer.of(one), op).await();
        return one[0];
    }

    /**
     * All-reduces one integer, and waits for the result.
     *
     * @return the same on all ranks
     * @throws JcclException as {@link Work#await()}
     */
    default long allReduce(long value, ReduceOp op) {
        long[] one = {value};
        allReduce(DataBuffer.of(one), op).await();
        return one[0];
    }

    /**
     * Sends bytes from the root to every rank, and waits for them. Other ranks need not know how many there
     * are.
     *
     * @param value what the root sends; not used and possibly null at other ranks
     * @param root the rank that sends
     * @return the root's bytes; at the root {@code value} itself
     * @throws JcclException as {@link Work#await()}
     */
    default byte[] broadcastBytes(byte @Nullable [] value, int root) {
        return ByteArrays.broadcast(this, value, root);
    }

    /** {@link #broadcastBytes} under its first name. */
    default byte[] broadcastObject(byte @Nullable [] value, int root) {
        return broadcastBytes(value, root);
    }

    /**
     * Collects bytes of every rank at every rank, and waits for them. Ranks need not know how many others
     * send.
     *
     * @param value what this rank sends; its length may differ from rank to rank, and be 0
     * @return one array for each rank, in rank order
     * @throws JcclException as {@link Work#await()}
     */
    default List<byte[]> allGatherBytes(byte[] value) {
        return ByteArrays.allGather(this, value);
    }

    /** {@link #allGatherBytes} under its first name. */
    default List<byte[]> allGatherObject(byte[] value) {
        return allGatherBytes(value);
    }

    /**
     * Operations on device memory that are ordered by a stream, as a kernel put on it would be: each begins after what was
     * put on the stream before, and what is put on it later begins after the operation. Issuing returns at once, and nothing
     * waits for the device. A stream belongs to one rank of a communicator.
     *
     * <p>Operations on device memory that are issued without a stream begin at once, on one of the communicator's own: the
     * application sees to it that its buffers are ready, and waits for the {@link Work} before it uses the result.
     *
     * <p>A stream that captures a graph captures the operations, which the graph then repeats; all ranks launch their graphs
     * equally often, and the communicator's operations are captured on one stream. The {@link Work} of a captured operation
     * is done at once.
     *
     * @throws DeviceException if this communicator's ranks have no devices
     */
    StreamOperations on(DeviceStream stream);

    /**
     * Operations with a time-out of their own instead of the communicator's. It counts from the call that issues the operation,
     * whether or not anybody waits: one that is not over in time has failed, and the communicator with it, as with {@link
     * Work#await(Duration)}. Of two that apply, the shorter counts. On a device it also counts from when the operation begins
     * there, as long as nobody waits.
     *
     * <pre>{@code
     * comm.within(Duration.ofSeconds(2)).allReduce(gradients, ReduceOp.SUM);
     * }</pre>
     *
     * @param timeout of each operation, at least a millisecond
     */
    TimedOperations within(Duration timeout);

    /**
     * Registers memory, on which ranks of other processes work in place from then on. All ranks call this, each with a buffer
     * of its own of any size, all of the host or all of devices; it returns when all have. An all-reduce, all-gather or
     * reduce-scatter that reads and writes registered buffers, or parts of them, on all ranks moves its data straight between
     * them, where the algorithm-selection table finds that faster; with other buffers on any rank it goes through slots, with the
     * same results. Sums of floating-point numbers may differ in their last bits from those without registered buffers.
     *
     * <p><b>Memory of the host</b> is a direct buffer of 1 MiB or more, all of it, whose memory glibc has mapped by itself; it
     * has the speed of a {@link HostBuffer} then, which needs no registration and is the better choice where one can choose. Registering
     * moves its bytes to shared pages at the same addresses, and {@link Registration#close()} moves them back: nobody may write
     * to it during either call. Keep it registered for many operations. One registration serves all communicators of the process. The
     * buffer is kept until {@code close()}; who frees it by hand before loses only its use in place. A process that is
     * forked meanwhile shares it. Do not register it with an adapter or a GPU before, which would keep the old pages. Where ranks
     * are joined by InfiniBand verbs, adapters keep it, or a {@link HostBuffer}, registered until {@code close()}, instead of
     * registering it for each operation; nothing is in place then. Where they are joined by sockets, this has no effect.
     *
     * <p><b>Memory of a device</b> is one allocation of {@code cudaMalloc} ({@code cuMemAlloc}), or of {@code cuMemCreate} that
     * can be exported as a file descriptor, or lies in it. The other ranks' processes map all of that allocation. It is freed
     * after {@link Registration#close()} has returned: a peer may use it until then. While any is registered, large operations on other
     * memory of devices take longer than without. This waits for what was issued on this rank's device. End the operations of other
     * communicators of the process before: the driver waits for their kernels when it maps memory.
     *
     * @param buffer a direct buffer, or memory of a device
     * @return closes it; without effect where ranks work in place without it, as threads of one process and on memory of
     *     {@link HostBuffer}, or gain nothing, as over sockets
     * @throws IllegalArgumentException if the buffer is a Java array
     * @throws IllegalStateException if the buffer is a {@link HostBuffer} or of an arena that is closed
     * @throws DeviceException if the buffer is memory of a device, and this communicator's ranks have none; or, on all ranks, if any
     *     of them cannot export or open such memory, which it says; nothing is registered then
     * @throws JcclException on all ranks, if any of them cannot register its memory of the host, with the reason and the remedy: it is
     *     smaller than 1 MiB, shares its pages with other allocations or is only a part of one, or is registered
     *     already; nothing is registered then. Else as {@link Work#await()}
     */
    Registration register(DataBuffer buffer);

    /**
     * Splits the communicator: ranks of one color get a new one, ordered by key and then by their rank here. All ranks
     * call this; it returns when all have. An interrupt while this waits fails this communicator, and names the rank to the
     * others.
     *
     * @param color which new communicator this rank joins; negative if none
     * @param key the order within the new communicator
     * @return the new communicator, or empty if {@code color} is negative
     * @throws BootstrapException if the ranks cannot initialise the new communicator
     * @throws CommunicationTimeoutException if ranks stay away; names them by their ranks in this communicator
     * @throws PeerFailedException if ranks fail, or are interrupted; names them by their ranks in this communicator
     * @throws InterruptedCommunicationException if this thread is interrupted; the other ranks learn of it
     */
    default Optional<Communicator> split(int color, int key) {
        return split(color, key, "");
    }

    /**
     * Like {@link #split(int, int)}, and names the new communicator.
     *
     * <pre>{@code
     * Communicator row = comm.split(comm.rank() / columns, comm.rank(), "rows").orElseThrow();
     * }</pre>
     *
     * @param color which new communicator this rank joins; negative if none
     * @param key the order within the new communicator
     * @param name as for {@link CommunicatorConfig.Builder#name}; the same on all ranks of one color
     * @throws IllegalArgumentException if the name has other characters or is too long
     */
    Optional<Communicator> split(int color, int key, String name);

    /**
     * Goes on without some ranks: initialises a new communicator of the others, in the same order, also when this one has
     * failed. All ranks that are left call this with the same ranks; it returns when all have. The ranks that are left out
     * need not live, and rank 0 may be one of them.
     *
     * <pre>{@code
     * try {
     *     step(comm);
     * } catch (PeerFailedException e) {
     *     Communicator rest = comm.shrink(e.failedRanks());
     *     comm.close();
     * }
     * }</pre>
     *
     * <p>What was issued on this communicator has ended when this returns; nothing of it reaches the new one, whose
     * connections have keys of their own. A healthy communicator can be shrunk as well, and stays usable. This one has its own
     * numbers for ranks and is closed on its own.
     *
     * <p>If still more ranks end meanwhile, every rank that is left throws {@link PeerFailedException} within seconds, and all
     * call this again, with these ranks too. A rank that lives and stays away, or cannot be reached, is waited for until
     * {@code JCCL_INIT_TIMEOUT}.
     *
     * <p>A communicator that has failed, or on which a split or a shrink has, goes on with a majority of its ranks only, see
     * {@link Quorum#MAJORITY}: the others may have gone on without a rank that was late, was stopped, or lost its network for
     * longer than {@code JCCL_HEARTBEAT_TIMEOUT}. Such a rank
     * gets a {@link PeerFailedException} that names itself, and ends or joins a new communicator. Ranks whose processes have
     * ended do not count, so that two of five go on where three died. {@link #shrink(Collection, Quorum)} with {@link
     * Quorum#ANY} asks for less.
     *
     * @param excludedRanks ranks of this communicator that are left out; none to initialise one of all ranks again, as after
     *     an {@link #abort}
     * @throws IllegalArgumentException if the collection or a rank in it is null, or a rank is this one, or none of this
     *     communicator
     * @throws BootstrapException if the ranks cannot initialise a communicator, exclude different ones, or are a
     *     minority
     * @throws CommunicationTimeoutException if ranks stay away; names them by their ranks in this communicator
     * @throws PeerFailedException if more ranks fail, or are interrupted; names them by their ranks in this communicator
     * @throws InterruptedCommunicationException if this thread is interrupted; the other ranks learn of it
     */
    default Communicator shrink(Collection<Integer> excludedRanks) {
        return shrink(excludedRanks, Quorum.MAJORITY);
    }

    /**
     * Like {@link #shrink(Collection)}, with a choice of how many ranks must be left.
     *
     * @param excludedRanks ranks of this communicator that are left out
     * @param quorum the same on all ranks; without meaning for a communicator that has not failed, and on which no split or
     *     shrink has
     */
    Communicator shrink(Collection<Integer> excludedRanks, Quorum quorum);

    /**
     * Goes on without some ranks and with new processes: initialises a new communicator of the survivors, in the same order,
     * and behind them of processes that call {@link #join(UniqueId, Collection)}, or {@link #fromEnvironment()} with {@code
     * JCCL_JOIN}. Like {@link #shrink(Collection)} also after a failure, and with what is said there about failures, majorities
     * and the communicator itself. Processes that join do not count towards a majority.
     *
     * <pre>{@code
     * Set<Integer> survivors = IntStream.range(0, comm.size()).boxed().collect(toSet());
     * survivors.removeAll(leaving);
     * Communicator next = comm.reform(survivors, coming);
     * comm.close();
     * // the new ranks have no state: send it to them
     * }</pre>
     *
     * <p>All survivors call this with the same arguments; it returns when all have, and all processes have joined. It waits for
     * these until {@code JCCL_INIT_TIMEOUT}; without them, call it again with fewer. A process that ends while it joins makes
     * its place free for another, or fails the call on all survivors with a {@link PeerFailedException} that names none of
     * them: call it again. A rank of a communicator that has not failed, and leaves, just calls {@link #close()}.
     *
     * <p>Several processes that join at once are ranked by their {@code JCCL_RANK}, if they have one, then by their coming.
     * More than there are places wait for the next reform.
     *
     * @param survivors ranks of this communicator that go on, this one included
     * @param joiners how many processes join; 0 for none
     * @throws IllegalArgumentException if a survivor is null or none of this communicator, this rank is not among them, or the
     *     number of joiners is negative
     * @throws BootstrapException if the ranks cannot initialise a communicator, differ in their arguments, or are a minority
     * @throws CommunicationTimeoutException if ranks stay away, which it names by their ranks in this communicator; or if
     *     processes do, and it says how many came
     * @throws PeerFailedException if more ranks fail, or are interrupted; names them by their ranks in this communicator
     * @throws InterruptedCommunicationException if this thread is interrupted; the other ranks learn of it
     */
    default Communicator reform(Collection<Integer> survivors, int joiners) {
        return reform(survivors, joiners, Quorum.MAJORITY);
    }

    /**
     * Like {@link #reform(Collection, int)}, with a choice of how many ranks must be left.
     *
     * @param survivors ranks of this communicator that go on, this one included
     * @param joiners how many processes join
     * @param quorum the same on all ranks; without meaning for a communicator that has not failed
     */
    Communicator reform(Collection<Integer> survivors, int joiners, Quorum quorum);

    /**
     * {@link #reform(Collection, int)} without some ranks, and with as many new processes in their place.
     *
     * <pre>{@code
     * try {
     *     step(comm);
     * } catch (PeerFailedException e) {
     *     Communicator next = comm.replace(e.failedRanks()); // on every remaining rank
     *     comm.close();
     *     // the new ranks, behind the others, have no state: send it to them
     * }
     * }</pre>
     *
     * @param excludedRanks ranks of this communicator that are replaced; not this one
     */
    Communicator replace(Collection<Integer> excludedRanks);

    /**
     * Fails the communicator, here and on the other ranks, and ends operations in flight with {@link AbortedException}.
     * Returns at once; may be called by any thread.
     */
    void abort();

    /** Why the communicator failed; empty while all is well, and for one that was closed without a failure. */
    Optional<JcclException> failure();

    /**
     * Has a listener called once, with what {@link #failure()} returns, when the communicator fails: also while no operation is
     * in flight, as when another rank's process ends. If it has failed, the listener is called now; of a communicator that is
     * closed without a failure, never. It is called on a thread of its own, so that it may wait, {@link #shrink} or {@link
     * #close}; what it throws is logged. Any thread may call this at any time.
     *
     * @param listener is called with the cause
     */
    void onFailure(Consumer<? super JcclException> listener);

    /** The memory that this communicator holds in this process now. */
    MemoryUsage memoryUsage();

    /**
     * What this communicator has done in this process since it was initialised; after {@link #close()} what it had done then.
     * Costs nothing while nobody calls it.
     */
    CommunicatorMetrics metrics();

    /** What joins this rank to each other rank, in rank order. */
    List<PeerTransport> transports();

    /**
     * Finishes what was issued, reports to the other ranks and frees everything. Returns in bounded time and throws nothing
     * else for a communicator that has failed. A second call does nothing. Other ranks may close later. If the calling
     * thread is interrupted, operations that are not over fail instead, on all ranks; the thread's interrupt flag stays
     * set. A continuation of a future may call this.
     *
     * <p>Waits a second at most until the other ranks have entered as many operations, to compare what all have called.
     *
     * @throws MismatchedCollectiveException if ranks called different operations and no call on this rank has said so;
     *     everything is freed nevertheless
     */
    @Override
    void close();
}
