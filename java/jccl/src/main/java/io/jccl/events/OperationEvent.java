package io.jccl.events;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

@Name("io.jccl.Operation")
@Label("Operation")
@Description("An operation of a communicator, from when this rank enters it until its buffers are this rank's again")
@Category("JCCL")
@Enabled(false)
@StackTrace(false)
final class OperationEvent extends Event implements OperationSpan {

    @Label("Communicator")
    private String communicator;

    @Label("Rank")
    private int rank;

    @Label("Ranks")
    private int size;

    @Label("Sequence")
    @Description("Its number among the communicator's collectives; of sends and receives that of the collective before")
    private long sequence;

    @Label("Collective")
    private String collective;

    @Label("Element Type")
    private String type;

    @Label("Reduction")
    private String reduction;

    @Label("Elements")
    private long count;

    @Label("Bytes")
    @Description("Of the largest buffer of a rank")
    @DataAmount
    private long bytes;

    @Label("Root")
    private int root;

    @Label("Algorithm")
    private String algorithm;

    @Label("Protocol")
    private String protocol;

    @Label("Channels")
    private int channels;

    @Label("In Place")
    private boolean inPlace;

    @Label("Waited")
    @Description("In waits that were long; short ones are not measured")
    @Timespan(Timespan.NANOSECONDS)
    private long waited;

    @Label("Waited For")
    @Description("The rank of the longest of these waits, or -1")
    private int waitedFor;

    @Label("Succeeded")
    private boolean succeeded;

    OperationEvent() {
        begin();
    }

    private OperationEvent(boolean unused) {}

    static boolean isRecorded() {
        return new OperationEvent(false).isEnabled();
    }

    @Override
    public void end(boolean success, Source source) {
        end();
        if (!shouldCommit()) {
            return;
        }
        Facts facts = source.facts();
        communicator = facts.communicator();
        rank = facts.rank();
        size = facts.size();
        sequence = facts.sequence();
        collective = facts.collective();
        type = facts.type();
        reduction = facts.reduction();
        count = facts.count();
        bytes = facts.bytes();
        root = facts.root();
        algorithm = facts.algorithm();
        protocol = facts.protocol();
        channels = facts.channels();
        inPlace = facts.inPlace();
        waited = facts.waitedNanos();
        waitedFor = facts.waitedFor();
        succeeded = success;
        commit();
    }
}
