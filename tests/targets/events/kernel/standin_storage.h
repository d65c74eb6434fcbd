/* SPDX-License-Identifier: MIT */
/*
 * Stand-ins for what block.h, ext4.h and skb.h of Linux 6.12 name, as standin.h's. Where a format
 * shows what a macro becomes, it becomes the same here.
 */
#ifndef STANDIN_STORAGE_H
#define STANDIN_STORAGE_H

#include "standin.h"

#define CONFIG_BUFFER_HEAD	      1
#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))
#define ntohs(x)		      __builtin_bswap16(x)

/* Devices, requests. */
typedef u8 blk_status_t;
typedef u32 blk_opf_t;
struct block_device {
	dev_t bd_dev;
};
struct gendisk {
	dev_t dev;
};
struct request_queue {
	struct gendisk *disk;
};
struct bio {
	struct {
		sector_t bi_sector;
	} bi_iter;
	blk_opf_t bi_opf;
	blk_status_t bi_status;
};
struct request {
	struct request_queue *q;
	struct bio *bio;
	blk_opf_t cmd_flags;
};
struct buffer_head {
	struct block_device *b_bdev;
	sector_t b_blocknr;
	size_t b_size;
};
enum {
	IOPRIO_CLASS_NONE,
	IOPRIO_CLASS_RT,
	IOPRIO_CLASS_BE,
	IOPRIO_CLASS_IDLE,
	IOPRIO_CLASS_INVALID = 7
};
#define IOPRIO_PRIO_CLASS(p) (((p) >> 13) & (8 - 1))
#define IOPRIO_PRIO_HINT(p)  (((p) >> 3) & ((1 << 10) - 1))
#define IOPRIO_PRIO_LEVEL(p) ((p) & ((1 << 3) - 1))
dev_t disk_devt(struct gendisk *d);
dev_t bio_dev(struct bio *b);
unsigned int bio_sectors(struct bio *b);
void blk_fill_rwbs(char *rwbs, blk_opf_t flags);
unsigned int blk_rq_bytes(const struct request *r);
int blk_rq_count_bios(struct request *r);
sector_t blk_rq_pos(const struct request *r);
unsigned int blk_rq_sectors(const struct request *r);
sector_t blk_rq_trace_sector(struct request *r);
unsigned int blk_rq_trace_nr_sectors(struct request *r);
int blk_status_to_errno(blk_status_t status);
unsigned short req_get_ioprio(struct request *r);

/* Packets: three of the reasons. */
#define DEFINE_DROP_REASON(FN, FNe) FN(NOT_SPECIFIED) FN(NO_SOCKET) FNe(MAX)
enum skb_drop_reason {
	SKB_DROP_REASON_NOT_SPECIFIED = 2,
	SKB_DROP_REASON_NO_SOCKET,
	SKB_DROP_REASON_MAX
};
struct sk_buff {
	u16 protocol;
};
struct sock;

/* Files. */
typedef u64 ext4_fsblk_t;
typedef u32 ext4_lblk_t;
typedef u32 ext4_group_t;
typedef int ext4_grpblk_t;
typedef u32 tid_t;
typedef u64 blkcnt_t;
#define pgoff_t unsigned long
typedef u16 __le16;
typedef u32 __le32;
typedef struct {
	struct {
		tid_t t_tid;
	} * h_transaction;
} handle_t;
typedef struct {
	unsigned long j_fc_off;
	void *j_private;
} journal_t;
enum writeback_sync_modes { WB_SYNC_NONE, WB_SYNC_ALL };
struct super_block {
	dev_t s_dev;
	struct block_device *s_bdev;
};
struct address_space {
	struct inode *host;
	pgoff_t writeback_index;
};
struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
	struct address_space *i_mapping;
	u64 i_blocks;
	umode_t i_mode;
	unsigned int i_nlink;
	struct {
		u32 val;
	} i_uid, i_gid;
	long long i_size;
};
struct folio {
	pgoff_t index;
	struct address_space *mapping;
};
struct dentry {
	struct super_block *d_sb;
	struct dentry *d_parent;
};
struct file {
	struct {
		struct dentry *dentry;
	} f_path;
};
struct writeback_control {
	long nr_to_write, pages_skipped;
	long long range_start, range_end;
	enum writeback_sync_modes sync_mode;
	unsigned for_kupdate : 1, range_cyclic : 1;
};
u32 i_uid_read(const struct inode *i);
u32 i_gid_read(const struct inode *i);
struct inode *d_inode(const struct dentry *d);
size_t folio_size(const struct folio *f);
long long folio_pos(const struct folio *f);

struct ext4_inode_info {
	struct inode vfs_inode;
	u32 i_sync_tid, i_datasync_tid;
	unsigned int i_reserved_data_blocks, i_reserved_meta_blocks, i_allocated_meta_blocks;
	u64 i_disksize;
	unsigned long i_state;
};
struct ext4_fc_stats {
	unsigned int fc_ineligible_reason_count[16];
	unsigned long fc_num_commits, fc_ineligible_commits, fc_numblks;
};
struct ext4_sb_info {
	struct ext4_fc_stats s_fc_stats;
	int s_mb_free_pending;
};
struct ext4_sb_info *EXT4_SB(struct super_block *sb);
struct ext4_free_extent {
	ext4_lblk_t fe_logical;
	ext4_grpblk_t fe_start;
	ext4_group_t fe_group;
	ext4_grpblk_t fe_len;
};
struct ext4_allocation_context {
	struct inode *ac_inode;
	struct super_block *ac_sb;
	struct ext4_free_extent ac_o_ex, ac_g_ex, ac_b_ex, ac_f_ex;
	u32 ac_groups_scanned;
	u16 ac_found, ac_tail, ac_buddy;
	u32 ac_flags;
	u8 ac_criteria;
};
struct ext4_allocation_request {
	struct inode *inode;
	unsigned int len, flags;
	ext4_lblk_t logical, lleft, lright;
	ext4_fsblk_t goal, pleft, pright;
};
struct ext4_extent {
	u32 ee_block;
};
struct ext4_extent_idx;
struct ext4_prealloc_space {
	ext4_fsblk_t pa_pstart;
	ext4_lblk_t pa_lstart;
	ext4_grpblk_t pa_len;
	struct inode *pa_inode;
};
struct mpage_da_data {
	struct inode *inode;
	ext4_lblk_t first_page, next_page;
	struct ext4_map_blocks {
		ext4_fsblk_t m_pblk;
		ext4_lblk_t m_lblk;
		unsigned int m_len, m_flags;
	} map;
};
struct extent_status {
	ext4_lblk_t es_lblk, es_len;
};
struct ext4_fsmap {
	u32 fmr_device, fmr_flags;
	u64 fmr_physical, fmr_owner, fmr_length;
};
struct partial_cluster {
	ext4_fsblk_t pclu;
	ext4_lblk_t lblk;
	enum { initial } state;
};
ext4_fsblk_t ext4_ext_pblock(struct ext4_extent *ex);
unsigned short ext4_ext_get_actual_len(struct ext4_extent *ex);
ext4_fsblk_t ext4_idx_pblock(struct ext4_extent_idx *ix);
ext4_fsblk_t ext4_es_pblock(struct extent_status *es);
ext4_fsblk_t ext4_es_show_pblock(struct extent_status *es);
unsigned int ext4_es_status(struct extent_status *es);
ext4_fsblk_t ext4_grp_offs_to_block(struct super_block *sb, struct ext4_free_extent *fex);
ext4_fsblk_t ext4_group_first_block_no(struct super_block *sb, ext4_group_t group);
#define EXT4_C2B(sbi, n) (n)

#define EXT4_MB_HINT_MERGE		      0x0001
#define EXT4_MB_HINT_RESERVED		      0x0002
#define EXT4_MB_HINT_METADATA		      0x0004
#define EXT4_MB_HINT_FIRST		      0x0008
#define EXT4_MB_HINT_BEST		      0x0010
#define EXT4_MB_HINT_DATA		      0x0020
#define EXT4_MB_HINT_NOPREALLOC		      0x0040
#define EXT4_MB_HINT_GROUP_ALLOC	      0x0080
#define EXT4_MB_HINT_GOAL_ONLY		      0x0100
#define EXT4_MB_HINT_TRY_GOAL		      0x0200
#define EXT4_MB_DELALLOC_RESERVED	      0x0400
#define EXT4_MB_STREAM_ALLOC		      0x0800
#define EXT4_MB_USE_ROOT_BLOCKS		      0x1000
#define EXT4_MB_USE_RESERVED		      0x2000
#define EXT4_MB_STRICT_CHECK		      0x4000
#define EXT4_GET_BLOCKS_CREATE		      0x0001
#define EXT4_GET_BLOCKS_UNWRIT_EXT	      0x0002
#define EXT4_GET_BLOCKS_DELALLOC_RESERVE      0x0004
#define EXT4_GET_BLOCKS_PRE_IO		      0x0008
#define EXT4_GET_BLOCKS_CONVERT		      0x0010
#define EXT4_GET_BLOCKS_METADATA_NOFAIL	      0x0020
#define EXT4_GET_BLOCKS_NO_NORMALIZE	      0x0040
#define EXT4_GET_BLOCKS_CONVERT_UNWRITTEN     0x0100
#define EXT4_GET_BLOCKS_ZERO		      0x0200
#define EXT4_GET_BLOCKS_IO_SUBMIT	      0x0400
#define EXT4_EX_NOCACHE			      0x40000000
#define EXT4_FREE_BLOCKS_METADATA	      0x0001
#define EXT4_FREE_BLOCKS_FORGET		      0x0002
#define EXT4_FREE_BLOCKS_VALIDATED	      0x0004
#define EXT4_FREE_BLOCKS_NO_QUOT_UPDATE	      0x0008
#define EXT4_FREE_BLOCKS_NOFREE_FIRST_CLUSTER 0x0010
#define EXT4_FREE_BLOCKS_NOFREE_LAST_CLUSTER  0x0020
enum { BH_Mapped = 4, BH_New = 5, BH_Boundary = 9, BH_Unwritten = 11 };
#define KERNEL_BIT(n)	   ((((1UL))) << (n))
#define EXT4_MAP_NEW	   KERNEL_BIT(BH_New)
#define EXT4_MAP_MAPPED	   KERNEL_BIT(BH_Mapped)
#define EXT4_MAP_UNWRITTEN KERNEL_BIT(BH_Unwritten)
#define EXT4_MAP_BOUNDARY  KERNEL_BIT(BH_Boundary)
enum { ES_WRITTEN_B, ES_UNWRITTEN_B, ES_DELAYED_B, ES_HOLE_B, ES_REFERENCED_B };
#define EXTENT_STATUS_WRITTEN	 (1 << ES_WRITTEN_B)
#define EXTENT_STATUS_UNWRITTEN	 (1 << ES_UNWRITTEN_B)
#define EXTENT_STATUS_DELAYED	 (1 << ES_DELAYED_B)
#define EXTENT_STATUS_HOLE	 (1 << ES_HOLE_B)
#define EXTENT_STATUS_REFERENCED (1 << ES_REFERENCED_B)
#define FALLOC_FL_KEEP_SIZE	 0x01
#define FALLOC_FL_PUNCH_HOLE	 0x02
#define FALLOC_FL_COLLAPSE_RANGE 0x08
#define FALLOC_FL_ZERO_RANGE	 0x10
enum {
	EXT4_FC_REASON_XATTR,
	EXT4_FC_REASON_CROSS_RENAME,
	EXT4_FC_REASON_JOURNAL_FLAG_CHANGE,
	EXT4_FC_REASON_NOMEM,
	EXT4_FC_REASON_SWAP_BOOT,
	EXT4_FC_REASON_RESIZE,
	EXT4_FC_REASON_RENAME_DIR,
	EXT4_FC_REASON_FALLOC_RANGE,
	EXT4_FC_REASON_INODE_JOURNAL_DATA,
	EXT4_FC_REASON_ENCRYPTED_FILENAME,
	EXT4_FC_REASON_MAX
};
enum criteria {
	CR_POWER2_ALIGNED,
	CR_GOAL_LEN_FAST,
	CR_BEST_AVAIL_LEN,
	CR_GOAL_LEN_SLOW,
	CR_ANY_FREE
};

#endif
