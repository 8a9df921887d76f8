//! The table that registers views.

/// Makes [`ViewId`](super::ViewId) from the list of views, from left to right.
macro_rules! views {
    ($($(#[$doc:meta])* $id:ident => $view:path,)+) => {
        /// A registered view.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ViewId {
            $($(#[$doc])* $id,)+
        }

        impl ViewId {
            /// All views, from left to right.
            pub const ALL: [ViewId; [$(ViewId::$id),+].len()] = [$(ViewId::$id),+];

            /// The implementation of the view.
            pub(crate) fn view(self) -> &'static dyn AnyView {
                match self {
                    $(Self::$id => &$view,)+
                }
            }

            /// The action that opens the view.
            pub(crate) fn open_action(self) -> &'static dyn Action {
                match self {
                    $(Self::$id => &GoToView(Self::$id),)+
                }
            }
        }

        $(impl RegisteredView for $view {
            const ID: ViewId = ViewId::$id;
        })+
    };
}
pub(super) use views;
