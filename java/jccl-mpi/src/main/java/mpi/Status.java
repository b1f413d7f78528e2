package mpi;

/** What a receive or a probe has found. */
public final class Status {

    private final int source;
    private final int tag;
    private final long bytes;
    private final boolean cancelled;
    private final int index;

    Status(int source, int tag, long bytes, boolean cancelled, int index) {
        this.source = source;
        this.tag = tag;
        this.bytes = bytes;
        this.cancelled = cancelled;
        this.index = index;
    }

    /** Returns the status of something that received nothing. */
    static Status empty() {
        return new Status(MPI.ANY_SOURCE, MPI.ANY_TAG, 0, false, 0);
    }

    Status at(int place) {
        return new Status(source, tag, bytes, cancelled, place);
    }

    /** Returns the rank that sent the message. */
    public int getSource() {
        return source;
    }

    /** Returns the tag of the message. */
    public int getTag() {
        return tag;
    }

    /** Returns {@link MPI#SUCCESS}: failures are exceptions. */
    public int getError() {
        return MPI.SUCCESS;
    }

    /** Returns the number of elements of the message; {@link MPI#UNDEFINED} if it is no whole number. */
    public int getCount(Datatype type) {
        return bytes % type.getSize() == 0 ? (int) (bytes / type.getSize()) : MPI.UNDEFINED;
    }

    /** Returns the same as {@link #getCount}. */
    public int getElements(Datatype type) {
        return getCount(type);
    }

    /** Returns true if the request was cancelled. */
    public boolean isCancelled() {
        return cancelled;
    }

    /** Returns the place of the request among those of {@code waitAny}, {@code waitSome} and their like. */
    public int getIndex() {
        return index;
    }
}
