// Runs operations of one channel over a network that reduces (CollNet).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/status.h"
#include "collnet/coll_net.h"
#include "collnet/schedules.h"
#include "engine/added_schedule.h"
#include "engine/channel.h"

namespace jccl {

class CollNetChannel final : public AddedSchedule {
 public:
  struct Group {
    std::vector<int> leaders;     // the leading rank of each host
    CollNetGroup* own = nullptr;  // this rank's end of the group; null if another rank leads its host
  };

  // `common`: the abilities that the plug-ins of all ranks offer. The channel and the group must outlive the result.
  static Status make(Channel& channel, const Group& group, const CollNetOffer& common,
                     std::unique_ptr<AddedSchedule>* made);

  bool runs(Algorithm algorithm, OperationCode code) const override;
  void run(const Operation& operation, const Transfer& transfer) override;
  bool mayBlock() const override { return group_.own != nullptr; }
  bool holds(std::thread::id thread) const override { return group_.own != nullptr && group_.own->holds(thread); }

 private:
  struct HostLinks;

  CollNetChannel(Channel& channel, Group group, const CollNetOffer& common);

  int ranksOfChunk(Collective collective) const;
  HostLinks linksOf(bool chain, int leader);
  CollNetPlan planOf(const Operation& operation, const Transfer& transfer, const HostLinks& links) const;
  template <Protocol P>
  void runWith(const Operation& operation, const Transfer& transfer);

  Channel& channel_;
  const RankHosts& hosts_;
  const Group group_;
  const CollNetOffer common_;
  size_t largestHost_ = 0;  // ranks of the host that has the most
  bool evenHosts_ = false;  // all hosts have equal numbers of ranks, with consecutive numbers
};

}  // namespace jccl
