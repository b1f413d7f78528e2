package io.jccl;

import io.jccl.internal.Arguments;
import io.jccl.runtime.CommunicatorImpl;
import io.jccl.runtime.Implementation;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A fixed set of ranks that call operations together. Every rank holds one object of this class. A process can hold
 * several objects, of one communicator or of several.
 *
 * <p>One thread at a time may issue operations, and it may be a different thread each time. If two threads issue at
 * once, the second gets an {@link IllegalStateException}, because the ranks could not agree on an order. Any thread may
 * use {@link Work}, {@link #abort()} and the getters at any time.
 *
 * <p>All ranks call the same collectives in the same order, with the same type, reduction, count and root. Otherwise
 * the communicator fails with {@link MismatchedCollectiveException}: a rank never takes data from a rank whose calls so
 * far were different. When an all-reduce, all-gather, reduce-scatter, all-to-all or barrier on host memory has
 * returned, all ranks are known to have called the same operations up to it. End a series of asynchronous operations
 * with one of these, and wait for it. Other operations can return, and their futures complete, before a difference is
 * found: on a rank that only sends, or that receives only from ranks that made the same call. Then a later operation
 * finds the difference, or {@link #close()} does. If ranks call nothing more, their heartbeats ({@code
 * JCCL_HEARTBEAT_INTERVAL}) find it, and the next call throws. Sends and receives are compared only between their two
 * ends.
 *
 * <p>Several communicators over the same ranks are independent and may run at the same time. If the kernels of all of
 * them do not fit on a GPU together, a warning says so. Then all ranks must issue the operations of these communicators
 * in the same order.
 */
public sealed interface Communicator extends ArrayOperations<Work>, AutoCloseable permits CommunicatorImpl {

    /**
     * Initialises a communicator. All ranks call this method with the same id and size. It returns when all ranks have
     * called it.
     *
     * @param id the id that one rank created with {@link UniqueId#create()}
     * @param rank the number of this rank, 0 to {@code size - 1}
     * @param size the number of ranks
     * @throws BootstrapException if the ranks cannot initialise a communicator
     * @throws CommunicationTimeoutException if ranks do not call this in time; names them
     * @throws PeerFailedException if a rank ends, or is interrupted, while others wait for it; names it
     * @throws InterruptedCommunicationException if this thread is interrupted; the other ranks learn of it
     */
    static Communicator init(UniqueId id, int rank, int size) {
        return init(id, rank, size, CommunicatorConfig.defaults());
    }

    /**
     * Initialises a communicator with settings. Settings that shape the plan must be the same on all ranks.
     *
     * @param id the id that one rank created with {@link UniqueId#create()}
     * @param rank the number of this rank, 0 to {@code size - 1}
     * @param size the number of ranks
     * @param config the settings
     * @throws BootstrapException if the ranks cannot initialise a communicator
     * @throws CommunicationTimeoutException if ranks do not call this in time; names them
     * @throws PeerFailedException if a rank ends, or is interrupted, while others wait for it; names it
     * @throws InterruptedCommunicationException if this thread is interrupted; the other ranks learn of it
     */
    static Communicator init(UniqueId id, int rank, int size, CommunicatorConfig config) {
        return Implementation.get().init(id, rank, size, config);
    }

    /**
     * Initialises the communicator of the job in which a launcher started this process: {@code jccl run}, torchrun,
     * Open MPI, PMI or Slurm. Without a launcher, for example in an IDE, this process is the only rank of its job, and
     * a warning says so.
     *
     * @throws BootstrapException if the environment is incomplete or the ranks cannot initialise a communicator
     * @throws CommunicationTimeoutException if ranks do not call this in time; names them
     */
    static Communicator fromEnvironment() {
        return fromEnvironment(CommunicatorConfig.defaults());
    }

    /**
     * Like {@link #fromEnvironment()}, with settings.
     *
     * @param config the settings
     * @throws BootstrapException if the environment is incomplete or the ranks cannot initialise a communicator
     * @throws CommunicationTimeoutException if ranks do not call this in time; names them
     */
    static Communicator fromEnvironment(CommunicatorConfig config) {
        return Implementation.get().fromEnvironment(Arguments.required("config", config, CommunicatorConfig.EXPECTED));
    }

    /**
     * Like {@link #init(UniqueId, int, int, CommunicatorConfig)}, but initialises on a separate thread and returns at
     * once. If the application completes the future first, by {@link CompletableFuture#cancel}, {@link
     * CompletableFuture#orTimeout} or otherwise, the initialisation ends on all ranks, and nothing of it remains in
     * this process. The other ranks get a {@link PeerFailedException} that names this rank. If they have already
     * initialised, their communicator fails with {@link AbortedException} instead.
     *
     * @param id the id that one rank created with {@link UniqueId#create()}
     * @param rank the number of this rank, 0 to {@code size - 1}
     * @param size the number of ranks
     * @param config the settings
     * @return a future of the communicator, or of the exception that {@code init} throws. Continuations that are not
     *     {@code Async} run on the thread that initialised the communicator
     * @throws IllegalArgumentException at once, if an argument is wrong
     */
    static CompletableFuture<Communicator> initAsync(UniqueId id, int rank, int size, CommunicatorConfig config) {
        return Implementation.get().initAsync(id, rank, size, config);
    }

    /** Like {@link #initAsync(UniqueId, int, int, CommunicatorConfig)}, without settings. */
    static CompletableFuture<Communicator> initAsync(UniqueId id, int rank, int size) {
        return initAsync(id, rank, size, CommunicatorConfig.defaults());
    }

    /**
     * Joins a running communicator from a new process or a new thread. Waits at most {@code JCCL_INIT_TIMEOUT} until
     * the ranks of the communicator call {@link #reform(Collection, int)}; this process then becomes one of the last
     * ranks of the new communicator.
     *
     * @param id the id by which the ranks of the job have met; its secret lets this process in
     * @param members the texts that {@link #memberAddresses()} returned on a rank, or some of them; one rank that lives
     *     is enough
     * @throws IllegalArgumentException if an address cannot be read
     * @throws BootstrapException if this process is refused because its secret or its version differs
     * @throws CommunicationTimeoutException if no rank has admitted this process in time; shows what each address
     *     answered
     * @throws InterruptedCommunicationException if this thread is interrupted
     */
    static Communicator join(UniqueId id, Collection<String> members) {
        return join(id, members, CommunicatorConfig.defaults());
    }

    /**
     * Like {@link #join(UniqueId, Collection)}, with settings.
     *
     * @param id the id by which the ranks of the job have met
     * @param members the texts that {@link #memberAddresses()} returned on a rank
     * @param config the settings
     */
    static Communicator join(UniqueId id, Collection<String> members, CommunicatorConfig config) {
        return Implementation.get().join(id, members, config);
    }

    /** Returns the number of this rank, 0 to {@code size() - 1}. */
    int rank();

    /** Returns the number of ranks. */
    int size();

    /**
     * Returns the name that {@link CommunicatorConfig.Builder#name} or {@link #split(int, int, String)} gave this
     * communicator. Without such a name, returns {@code split} if the communicator was made by a split, and {@code
     * world} otherwise.
     */
    String name();

    /** Returns the format in which the elements of operations that name none travel between hosts. */
    WireFormat wireFormat();

    /**
     * Returns a text that identifies the communicator in logs. It is the same on all ranks and contains no secrets. It
     * starts with the given name, if any, continues with digits that no other communicator has, and ends with the
     * generation after a reform.
     */
    String id();

    /**
     * Returns how often the ranks have reformed this communicator: 0 for one that was initialised. {@link
     * #reform(Collection, int)} and {@link #shrink(Collection)} return a communicator whose generation is one higher.
     * The same on all ranks.
     */
    int generation();

    /**
     * Returns the addresses at which processes that {@linkplain #join(UniqueId, Collection) join} find the ranks. The
     * list contains one text for each rank, in rank order: the addresses of the rank as {@code host:port,host:port},
     * best first. They can be used until this communicator is closed.
     */
    List<String> memberAddresses();

    /**
     * Issues several operations as one. Nothing is issued if the body throws.
     *
     * @param body adds operations to the group
     * @return the handle of the group, which is done when all its operations are done
     */
    Work group(Consumer<Group> body);

    /**
     * All-reduces one number, exactly, and waits for the result.
     *
     * @return the result, the same on all ranks
     * @throws JcclException as {@link Work#await()}
     */
    default double allReduce(double value, ReduceOp op) {
        double[] one = {value};
        allReduce(DataBuffer.of(one), op, WireFormat.EXACT).await();
        return one[0];
    }

    /**
     * All-reduces one integer, and waits for the result.
     *
     * @return the result, the same on all ranks
     * @throws JcclException as {@link Work#await()}
     */
    default long allReduce(long value, ReduceOp op) {
        long[] one = {value};
        allReduce(DataBuffer.of(one), op).await();
        return one[0];
    }

    /**
     * Sends bytes from the root to every rank, and waits for them. The other ranks need not know the number of bytes.
     *
     * @param value the bytes that the root sends; ignored at other ranks, where it may be null
     * @param root the rank that sends
     * @return the root's bytes; at the root {@code value} itself
     * @throws JcclException as {@link Work#await()}
     */
    default byte[] broadcastBytes(byte @Nullable [] value, int root) {
        return ByteArrays.broadcast(this, value, root);
    }

    /** The earlier name of {@link #broadcastBytes}. */
    default byte[] broadcastObject(byte @Nullable [] value, int root) {
        return broadcastBytes(value, root);
    }

    /**
     * Collects the bytes of every rank at every rank, and waits for them. Ranks need not know how many bytes the others
     * send.
     *
     * @param value the bytes that this rank sends; the length may differ from rank to rank, and may be 0
     * @return one array for each rank, in rank order
     * @throws JcclException as {@link Work#await()}
     */
    default List<byte[]> allGatherBytes(byte[] value) {
        return ByteArrays.allGather(this, value);
    }

    /** The earlier name of {@link #allGatherBytes}. */
    default List<byte[]> allGatherObject(byte[] value) {
        return allGatherBytes(value);
    }

    /**
     * Returns the operations of this communicator on device memory, ordered by a stream like a kernel. Each operation
     * begins when the earlier work of the stream is done, and later work of the stream begins when the operation is
     * done. Issuing returns at once and does not wait for the device. A stream must not be used for more than one rank
     * of a communicator.
     *
     * <p>Operations on device memory that are issued without a stream begin at once, on a stream of the communicator.
     * The application must make sure that its buffers are ready, and must wait for the {@link Work} before it uses the
     * result.
     *
     * <p>If the stream captures a graph, the graph captures the operations and repeats them at each launch. All ranks
     * must launch their graphs equally often, and must capture the communicator's operations on one stream. The {@link
     * Work} of a captured operation is done at once.
     *
     * @throws DeviceException if this communicator's ranks have no devices
     */
    StreamOperations on(DeviceStream stream);

    /**
     * Returns the operations of this communicator, with the given time-out for each operation instead of the
     * communicator's time-out. The time-out counts from the call that issues the operation, even if no thread waits. An
     * operation that has not ended in time fails, and the communicator fails with it, as with {@link
     * Work#await(Duration)}. If two time-outs apply, the shorter counts. On a device, while no thread waits, the
     * time-out also counts from the time at which the operation begins on the device.
     *
     * <pre>{@code
     * comm.within(Duration.ofSeconds(2)).allReduce(gradients, ReduceOp.SUM);
     * }</pre>
     *
     * @param timeout the time-out of each operation, at least a millisecond
     */
    TimedOperations within(Duration timeout);

    /**
     * Registers memory, so that ranks of other processes can use it in place. All ranks call this method, each with its
     * own buffer of any size. The buffers of all ranks are either host memory or device memory. The call returns when
     * all ranks have called it. If the buffers of an all-reduce, all-gather or reduce-scatter are registered buffers or
     * parts of them on all ranks, its data moves directly between them, provided the algorithm-selection table finds
     * that faster. For host memory, the same is true of all other collectives except the barrier and {@code allToAllV}.
     * If a buffer of any rank is not registered, the operation goes through slots. The results are the same, but sums
     * of floating-point numbers may differ in their last bits from sums in buffers that are not registered.
     *
     * <p><b>Host memory</b> must be a whole direct buffer of at least 1 MiB that glibc has mapped separately.
     * Operations on it are then as fast as on a {@link HostBuffer}. Prefer a {@code HostBuffer} if you can choose: it
     * needs no registration. Registering moves the bytes to shared pages at the same addresses, and {@link
     * Registration#close()} moves them back. No thread may write to the buffer during either call. Keep a buffer
     * registered for many operations. One registration serves all communicators of the process. The registration keeps
     * the buffer reachable until {@code close()}. If the application frees the memory itself before that, operations
     * only stop using it in place. A child process that is forked while the buffer is registered shares its pages. Do
     * not pin the buffer for an adapter or a GPU before you register it: the adapter or GPU would keep using the old
     * pages. Between ranks that are connected by InfiniBand verbs, operations do not work in place, but the adapters
     * keep the buffer, or a {@code HostBuffer}, registered until {@code close()} instead of registering it for each
     * operation. Between ranks that are connected by sockets, registering has no effect.
     *
     * <p><b>Device memory</b> must be an allocation of {@code cudaMalloc} ({@code cuMemAlloc}), or of {@code
     * cuMemCreate} with export as a file descriptor, or a part of one. The processes of the other ranks map the whole
     * allocation. Free it only after {@link Registration#close()} has returned: a peer can use it until then. While any
     * memory is registered, large operations on device memory that is not registered take longer than usual. This call
     * waits for the operations that were issued on this rank's device. End the operations of the process's other
     * communicators first: the driver waits for their kernels when it maps memory.
     *
     * @param buffer a direct buffer, or memory of a device
     * @return the registration, which {@link Registration#close()} ends. The registration has no effect if ranks work
     *     in place without it (threads of one process, or the memory of a {@link HostBuffer}), or if they would gain
     *     nothing from it (over sockets)
     * @throws IllegalArgumentException if the buffer is a Java array
     * @throws IllegalStateException if the buffer belongs to a closed {@link HostBuffer} or a closed arena
     * @throws DeviceException if the buffer is device memory and the ranks of this communicator have no devices. Also
     *     on all ranks, with nothing registered, if any rank cannot export or open the memory; the message names the
     *     rank
     * @throws JcclException on all ranks, with nothing registered, if any rank cannot register its host memory. The
     *     message gives the reason and the remedy: the memory is smaller than 1 MiB, shares its pages with other
     *     allocations, is only a part of an allocation, or is registered already. Otherwise as {@link Work#await()}
     */
    Registration register(DataBuffer buffer);

    /**
     * Allocates memory on every rank, and registers it: memory of this rank's GPU if the communicator has one, else
     * memory of the host. Operations work on it in place, as on a registered buffer, and the same program uses it on
     * GPUs and on hosts. All ranks call this method together, like a collective, with the same size. This call waits for
     * the operations of this communicator. On GPUs, end the operations of the process's other communicators first: the
     * driver waits for their kernels when it allocates memory.
     *
     * @param bytes the number of bytes of each rank, at least 1
     * @return the memory, which {@link SymmetricMemory#close()} frees
     * @throws IllegalArgumentException on all ranks if their sizes differ or are not positive
     * @throws DeviceException as {@link #register}
     * @throws JcclException on all ranks, with nothing allocated, if any rank cannot allocate the memory; the message
     *     names the rank and the reason. Otherwise as {@link Work#await()}
     */
    SymmetricMemory allocateSymmetric(long bytes);

    /**
     * Allocates a window on every rank: {@linkplain #allocateSymmetric symmetric memory} of the host that ranks read and
     * write at each other by {@linkplain Window one-sided operations}, over any transport. All ranks call this method
     * together, like a collective, with the same size. This call waits for the operations of this communicator.
     *
     * <pre>{@code
     * try (Window window = comm.allocateWindow(bytes)) {
     *     window.putSignal(right, 0, DataBuffer.of(halo), 0);
     *     window.waitSignal(left, 0, 1); // the halo of the left rank is here
     * }
     * }</pre>
     *
     * @param bytes the number of bytes of each rank, at least 1
     * @return the window, which {@link Window#close()} frees
     * @throws IllegalArgumentException on all ranks if their sizes differ or are not positive
     * @throws DeviceException if the ranks of this communicator have devices
     * @throws JcclException on all ranks, with nothing allocated, if any rank cannot allocate or map the memory; the
     *     message names the rank and the reason. Otherwise as {@link Work#await()}
     */
    Window allocateWindow(long bytes);

    /**
     * Returns the messages of this communicator: sends and receives with tags, which have no place in the sequence of
     * collectives. Each rank calls this when it likes, also if other ranks never do. The first call starts a thread and
     * makes connections, so the first message takes longer than later ones.
     *
     * @return the same object for each call
     * @throws DeviceException if the ranks have GPUs, because messages are memory of the host
     * @throws IllegalStateException if this communicator is closed
     * @throws JcclException if this communicator has failed, or the messages cannot be started
     */
    Messages messages();

    /**
     * Splits the communicator: the ranks of each color get a new communicator, ordered by key and then by their current
     * rank. All ranks call this method, and it returns when all have called it. If the thread is interrupted while it
     * waits, this communicator fails, and the failure names this rank to the others.
     *
     * <p>{@code split(0, rank())} copies the communicator. The new communicator fails and closes independently of this
     * one, in any order.
     *
     * @param color the number of the new communicator that this rank joins; negative for none
     * @param key determines the order in the new communicator
     * @return the new communicator, or empty if {@code color} is negative
     * @throws BootstrapException if the ranks cannot initialise the new communicator
     * @throws CommunicationTimeoutException if ranks do not call this in time; names them by their ranks in this
     *     communicator
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
     * @param color the number of the new communicator that this rank joins; negative for none
     * @param key determines the order in the new communicator
     * @param name a name as for {@link CommunicatorConfig.Builder#name}; the same on all ranks of one color
     * @throws IllegalArgumentException if the name is too long or contains other characters
     */
    Optional<Communicator> split(int color, int key, String name);

    /**
     * Continues without some ranks: initialises a new communicator of the remaining ranks, in the same order. This
     * communicator may have failed. All remaining ranks call this method with the same excluded ranks, and it returns
     * when all have called it. Excluded ranks need not be alive, and rank 0 can be one of them.
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
     * <p>All operations that were issued on this communicator have ended when this returns. None of their data reaches
     * the new communicator, whose connections have keys of their own. A communicator that has not failed can be shrunk
     * as well, and remains usable. Each of the two communicators has its own rank numbers and is closed separately.
     *
     * <p>If more ranks end during the call, every remaining rank throws {@link PeerFailedException} within seconds. All
     * remaining ranks then call this again and exclude these ranks too. The call waits until {@code JCCL_INIT_TIMEOUT}
     * for a rank that is alive but does not call this or cannot be reached.
     *
     * <p>After a failure of the communicator, or of a split, shrink or reform of it, only a majority of its ranks may
     * continue; see {@link Quorum#MAJORITY}. The reason is that the other ranks may have continued without a rank that
     * was late, was stopped, or lost its network for longer than {@code JCCL_HEARTBEAT_TIMEOUT}. Such a rank gets a
     * {@link PeerFailedException} that names itself, and must end or join a new communicator. Ranks whose processes
     * have ended do not count: if three of five ranks have died, the other two may continue. {@link #shrink(Collection,
     * Quorum)} with {@link Quorum#ANY} requires no majority.
     *
     * @param excludedRanks ranks of this communicator that are excluded; empty to initialise a communicator of all
     *     ranks again, for example after an {@link #abort}
     * @throws IllegalArgumentException if the collection is null, or an excluded rank is null, is this rank, or is not
     *     a rank of this communicator
     * @throws BootstrapException if the ranks cannot initialise a communicator, exclude different ranks, or are a
     *     minority
     * @throws CommunicationTimeoutException if ranks do not call this in time; names them by their ranks in this
     *     communicator
     * @throws PeerFailedException if more ranks fail, or are interrupted; names them by their ranks in this
     *     communicator
     * @throws InterruptedCommunicationException if this thread is interrupted; the other ranks learn of it
     */
    default Communicator shrink(Collection<Integer> excludedRanks) {
        return shrink(excludedRanks, Quorum.MAJORITY);
    }

    /**
     * Like {@link #shrink(Collection)}, and lets the application choose how many ranks must remain.
     *
     * @param excludedRanks ranks of this communicator that are excluded
     * @param quorum the same on all ranks. The quorum matters only after a failure of this communicator or of a split,
     *     shrink or reform of it. It also matters if this communicator is itself the result of a shrink or reform and
     *     is not yet known to be in use by all its ranks
     */
    Communicator shrink(Collection<Integer> excludedRanks, Quorum quorum);

    /**
     * Continues without some ranks and with new processes: initialises a new communicator of the survivors, in the same
     * order, followed by the new processes. The new processes call {@link #join(UniqueId, Collection)}, or {@link
     * #fromEnvironment()} with {@code JCCL_JOIN}. All that {@link #shrink(Collection)} says about failures, majorities
     * and this communicator applies here too. Processes that join do not count towards a majority.
     *
     * <pre>{@code
     * Set<Integer> survivors = IntStream.range(0, comm.size()).boxed().collect(toSet());
     * survivors.removeAll(leaving);
     * Communicator next = comm.reform(survivors, coming);
     * comm.close();
     * // the new ranks have no state: send it to them
     * }</pre>
     *
     * <p>All survivors call this method with the same arguments. It returns when all survivors have called it and all
     * processes have joined. It waits for the processes until {@code JCCL_INIT_TIMEOUT}; if they do not come, call it
     * again with fewer. If a process ends while it joins, another process can take its place, or the call fails on all
     * survivors with a {@link PeerFailedException} that names no survivor. Call it again in that case. A rank that
     * leaves a communicator that has not failed calls only {@link #close()}.
     *
     * <p>If several processes join at once, they are ranked by their {@code JCCL_RANK}, if set, and then in the order
     * in which they came. Processes beyond the number of places wait for the next reform.
     *
     * @param survivors ranks of this communicator that continue, including this one
     * @param joiners the number of processes that join; 0 for none
     * @throws IllegalArgumentException if a survivor is null or not a rank of this communicator, if this rank is not
     *     among them, or if the number of joiners is negative
     * @throws BootstrapException if the ranks cannot initialise a communicator, differ in their arguments, or are a
     *     minority
     * @throws CommunicationTimeoutException if ranks do not call this in time; names them by their ranks in this
     *     communicator. Also if processes do not join in time; says how many came
     * @throws PeerFailedException if more ranks fail, or are interrupted; names them by their ranks in this
     *     communicator
     * @throws InterruptedCommunicationException if this thread is interrupted; the other ranks learn of it
     */
    default Communicator reform(Collection<Integer> survivors, int joiners) {
        return reform(survivors, joiners, Quorum.MAJORITY);
    }

    /**
     * Like {@link #reform(Collection, int)}, and lets the application choose how many ranks must remain.
     *
     * @param survivors ranks of this communicator that continue, including this one
     * @param joiners the number of processes that join
     * @param quorum the same on all ranks; matters in the same cases as for {@link #shrink(Collection, Quorum)}
     */
    Communicator reform(Collection<Integer> survivors, int joiners, Quorum quorum);

    /**
     * Replaces ranks by new processes: calls {@link #reform(Collection, int)} with all other ranks as survivors, and
     * with one new process for each excluded rank.
     *
     * <pre>{@code
     * try {
     *     step(comm);
     * } catch (PeerFailedException e) {
     *     Communicator next = comm.replace(e.failedRanks()); // on every remaining rank
     *     comm.close();
     *     // the new ranks, which follow the others, have no state: send it to them
     * }
     * }</pre>
     *
     * @param excludedRanks ranks of this communicator that are replaced; not this one
     */
    Communicator replace(Collection<Integer> excludedRanks);

    /**
     * Fails the communicator on this rank and on the other ranks. Operations in flight end with {@link
     * AbortedException}. Returns at once. Any thread may call this.
     */
    void abort();

    /**
     * Like {@link #abort()}, with a reason that the exceptions of all ranks contain.
     *
     * @param reason the reason, for example the message of an exception. At most 500 characters are kept, and control
     *     characters become spaces, so that the text stays on one line of a log. Null or blank for no reason, because an
     *     abort must not fail
     */
    void abort(@Nullable String reason);

    /**
     * Returns the cause of the communicator's failure. Empty if the communicator has not failed, or was closed without
     * a failure.
     */
    Optional<JcclException> failure();

    /**
     * Registers a listener that is called once when the communicator fails, with the cause that {@link #failure()}
     * returns. A failure is reported even if no operation is in flight, for example if the process of another rank
     * ends. If the communicator has failed already, the listener is called now. If the communicator is closed without a
     * failure, the listener is never called. The listener runs on a thread of its own, so it may wait, {@link #shrink}
     * or {@link #close}. An exception that it throws is logged. Any thread may call this at any time.
     *
     * @param listener is called with the cause
     */
    void onFailure(Consumer<? super JcclException> listener);

    /** Returns the memory that this communicator holds in this process now. */
    MemoryUsage memoryUsage();

    /**
     * Returns what this communicator has done in this process since it was initialised; after {@link #close()}, what it
     * had done by then. Counting costs nothing while this is not called.
     */
    CommunicatorMetrics metrics();

    /** Returns the transport between this rank and each other rank, in rank order. */
    List<PeerTransport> transports();

    /**
     * Finishes the operations that were issued, reports to the other ranks and frees everything. Returns in bounded
     * time. Does not throw an earlier failure of the communicator, except a mismatch that no call on this rank has
     * thrown yet. A second call does nothing. If the calling thread is interrupted, operations that are not over fail on
     * all ranks, and the thread's interrupt flag stays set. A continuation of a future may call this.
     *
     * <p>Ranks may close several communicators in any order, on any threads, and need not close at the same time. After
     * rank 0 has closed, its process watches over the other ranks until they have closed too, at most for five seconds;
     * if the JVM ends earlier, it waits for that.
     *
     * <p>To compare what all ranks have called, this waits at most one second until the other ranks have entered as
     * many operations.
     *
     * @throws MismatchedCollectiveException if ranks called different operations and no call on this rank has said so;
     *     everything is freed nevertheless
     */
    @Override
    void close();
}
