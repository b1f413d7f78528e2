package io.jccl.status;

import io.jccl.rendezvous.AwaitedRanks;
import io.jccl.wire.Limits;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * The state of one process of a job at one moment.
 *
 * @param process differs between processes of all hosts
 * @param pid the process id, in the process's own namespace
 * @param hostId differs between hosts
 * @param hostName the name of the host
 * @param port the port at which the status server listens for other hosts; 0 if it does not
 * @param awaited the ranks for which the process's rendezvous servers and coordinators wait
 * @param ranks the state of each of the process's ranks
 * @param joins the jobs that the process waits to join
 * @param dumps the files that the process has written for this answer, or the reasons why it has not
 */
public record ProcessSnapshot(
        String process,
        long pid,
        String hostId,
        String hostName,
        int port,
        List<AwaitedRanks.Waiting> awaited,
        List<RankSnapshot> ranks,
        List<JoinSnapshot> joins,
        List<String> dumps) {

    private static final int MAX_TEXT = 1000;
    private static final int MAX_ENTRIES = 1 << 20;

    void write(WireWriter out) {
        out.text(process, MAX_TEXT).i64(pid).text(hostId, MAX_TEXT).text(hostName, MAX_TEXT);
        out.i32(port).i32(awaited.size());
        for (AwaitedRanks.Waiting one : awaited) {
            out.text(one.communicator(), MAX_TEXT).text(one.what(), MAX_TEXT);
            out.i32(one.size()).ranks(one.ranks()).i32(one.processes());
        }
        out.i32(ranks.size());
        ranks.forEach(rank -> rank.write(out));
        out.i32(joins.size());
        joins.forEach(join -> join.write(out));
        out.i32(dumps.size());
        dumps.forEach(dump -> out.text(dump, MAX_TEXT));
    }

    static ProcessSnapshot read(WireReader in) {
        String process = in.text(MAX_TEXT);
        long pid = in.i64();
        String hostId = in.text(MAX_TEXT);
        String hostName = in.text(MAX_TEXT);
        int port = in.i32In("port", 0, 65_535);
        List<AwaitedRanks.Waiting> awaited = new ArrayList<>();
        for (int left = in.i32In("awaited", 0, MAX_ENTRIES); left > 0; left--) {
            String communicator = in.text(MAX_TEXT);
            String what = in.text(MAX_TEXT);
            int size = in.i32In("size", 1, Limits.MAX_RANKS);
            awaited.add(new AwaitedRanks.Waiting(
                    communicator, what, size, in.ranks(size), in.i32In("processes", 0, Limits.MAX_RANKS)));
        }
        List<RankSnapshot> ranks = new ArrayList<>();
        for (int left = in.i32In("ranks", 0, MAX_ENTRIES); left > 0; left--) {
            ranks.add(RankSnapshot.read(in));
        }
        List<JoinSnapshot> joins = new ArrayList<>();
        for (int left = in.i32In("joins", 0, MAX_ENTRIES); left > 0; left--) {
            joins.add(JoinSnapshot.read(in));
        }
        List<String> dumps = new ArrayList<>();
        for (int left = in.i32In("dumps", 0, MAX_ENTRIES); left > 0; left--) {
            dumps.add(in.text(MAX_TEXT));
        }
        return new ProcessSnapshot(process, pid, hostId, hostName, port, awaited, ranks, joins, dumps);
    }
}
