package io.jccl.wire;

/** The group to which the next frame of a connection belongs. A {@link FrameType#CONTEXT} frame names it. */
public final class FrameGroup {

    private long next = GroupLink.FIRST;

    /** Takes a frame if it names the group of the next one; returns false for all others. */
    public boolean takes(FrameType type, WireReader body) {
        if (type != FrameType.CONTEXT) {
            return false;
        }
        next = body.i64();
        body.end();
        return true;
    }

    /**
     * Returns the number of the group to which a frame belongs. Call {@link #handled} when the frame has been handled: if
     * its handler throws, a repeatable frame is handled again, as one of this group.
     */
    public long of(FrameType type) {
        long number = next;
        if (!type.isRepeatable()) {
            next = GroupLink.FIRST;
        }
        return number;
    }

    /** Ends a frame: the next one belongs to the first group, unless a CONTEXT frame precedes it. */
    public void handled() {
        next = GroupLink.FIRST;
    }
}
